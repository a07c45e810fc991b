"""The three commands that queue a batch differ in one word."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.core.management.base import CommandParser

from transitions.management.base import OperatorCommand, add_actor
from transitions.management.tables import execution_text
from transitions.models import Execution
from transitions.selectors import execution_report


class QueueCommand(OperatorCommand):
    """Queues one execution of a transition; a worker runs it."""

    service: ClassVar[Callable[..., Execution]]

    def add_operation_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("transition", type=int, help="number of the transition")
        add_actor(parser)

    def operate(self, options: dict[str, Any]) -> dict[str, Any]:
        execution = type(self).service(transition_id=options["transition"], requested_by=options["by"])
        return execution_report(execution.pk)

    def as_text(self, result: dict[str, Any]) -> str:
        return execution_text(result)
