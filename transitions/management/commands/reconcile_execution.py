"""``manage.py reconcile_execution EXECUTION``"""

from typing import Any

from django.core.management.base import CommandParser

from transitions.management.base import OperatorCommand, add_actor
from transitions.management.tables import execution_text
from transitions.reconciliation import reconcile_execution
from transitions.selectors import execution_report


class Command(OperatorCommand):
    help = "Puts a batch whose lease has expired back in the queue. Refused while a worker holds it."

    def add_operation_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("execution", type=int, help="number of the execution")
        add_actor(parser)

    def operate(self, options: dict[str, Any]) -> dict[str, Any]:
        outcome = reconcile_execution(execution_id=options["execution"], requested_by=options["by"])
        return {"result": outcome.result.value, **execution_report(options["execution"])}

    def as_text(self, result: dict[str, Any]) -> str:
        return f"{result['result']}: {execution_text(result)}"
