"""``manage.py plan_transition PLUGIN --from VERSION --to VERSION``"""

from typing import Any

from django.core.management.base import CommandParser

from transitions.management.base import OperatorCommand, add_actor
from transitions.management.tables import table
from transitions.planning import plan_transition
from transitions.selectors import transition_report


class Command(OperatorCommand):
    help = "Plans a plugin's way from one trusted release to another. Leave --from out to install, --to to remove."

    def add_operation_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("plugin")
        parser.add_argument("--from", dest="from_version", metavar="VERSION")
        parser.add_argument("--to", dest="to_version", metavar="VERSION")
        add_actor(parser)

    def operate(self, options: dict[str, Any]) -> dict[str, Any]:
        names = ("plugin", "from_version", "to_version")
        planned = plan_transition(**{name: options[name] for name in names}, planned_by=options["by"])
        return {**transition_report(planned.transition), "created": planned.created}

    def as_text(self, result: dict[str, Any]) -> str:
        rows = [
            (number, step["key"], step["kind"], "yes" if step["reversible"] else "no")
            for number, step in enumerate(result["steps"], start=1)
        ]
        before = "" if result["created"] else ", as it was planned before"
        return f"transition {result['transition']} ({result['name']}){before}\n" + table(
            ["#", "step", "kind", "undo"], rows
        )
