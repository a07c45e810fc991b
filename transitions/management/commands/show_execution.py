"""``manage.py show_execution EXECUTION``"""

from typing import Any

from django.core.management.base import CommandParser

from transitions.management.base import OperatorCommand
from transitions.management.tables import execution_text
from transitions.selectors import execution_report


class Command(OperatorCommand):
    help = "Shows an execution with its command and its receipts."

    def add_operation_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("execution", type=int, help="number of the execution")

    def operate(self, options: dict[str, Any]) -> dict[str, Any]:
        return execution_report(options["execution"])

    def as_text(self, result: dict[str, Any]) -> str:
        return execution_text(result)
