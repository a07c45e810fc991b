"""``manage.py trust_release PLUGIN VERSION``"""

from typing import Any

from django.core.management.base import CommandParser

from transitions.management.base import OperatorCommand, add_actor
from transitions.releases import trust_release
from transitions.selectors import release_report


class Command(OperatorCommand):
    help = "Marks an imported release as trusted: from then on it can be planned, and its payloads can be run."

    def add_operation_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("plugin")
        parser.add_argument("version")
        add_actor(parser)

    def operate(self, options: dict[str, Any]) -> dict[str, Any]:
        return release_report(
            trust_release(plugin=options["plugin"], version=options["version"], trusted_by=options["by"])
        )

    def as_text(self, result: dict[str, Any]) -> str:
        return f"{result['plugin']} {result['version']} is trusted by {result['trusted_by']} ({result['fingerprint']})"
