"""``manage.py import_release FILE``"""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from transitions.errors import InvalidManifest
from transitions.management.base import OperatorCommand, add_actor
from transitions.releases import import_release
from transitions.selectors import release_report


class Command(OperatorCommand):
    help = "Imports a plugin release from a manifest file (TOML or JSON). It can be planned once it is trusted."

    def add_operation_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        add_actor(parser)

    def operate(self, options: dict[str, Any]) -> dict[str, Any]:
        file: Path = options["file"]
        try:
            content = file.read_bytes()
        except OSError as error:
            raise InvalidManifest(f"{file}: {error.strerror}") from error
        release, created = import_release(content=content, file_name=file.name, imported_by=options["by"])
        return {**release_report(release), "created": created}

    def as_text(self, result: dict[str, Any]) -> str:
        state = "imported" if result["created"] else "was imported before, with the same content"
        lines = [f"{result['plugin']} {result['version']} {state} ({result['fingerprint']})"]
        lines += [f"  {key}" for key in result["contributions"]]
        lines += [f"  left out: {left['key']}: {left['what']}" for left in result["left_out"]]
        return "\n".join(lines)
