"""The states of a batch and the moves between them (pure). Drawn in ``docs/state_machine.md``, held by a test."""

from typing import Final

from django.db.models import TextChoices


class ExecutionStatus(TextChoices):
    """One attempt to run a transition's plan, forward or in reverse."""

    QUEUED = "QUEUED"  # its command waits for a worker
    RUNNING = "RUNNING"  # a worker walks its steps, or did when it died
    SUCCEEDED = "SUCCEEDED"  # every receipt succeeded
    FAILED = "FAILED"  # a step failed; a retry is a new execution


class ReceiptStatus(TextChoices):
    """One step of one execution."""

    PENDING = "PENDING"  # not done, and not under way
    RUNNING = "RUNNING"  # handed to the executor; found so at redelivery, it may have happened
    SUCCEEDED = "SUCCEEDED"  # the target's receipt is recorded; never called again
    FAILED = "FAILED"  # the step that ended the attempt


class CommandStatus(TextChoices):
    """The outbox command of one execution."""

    PENDING = "PENDING"  # waits until available_at
    PROCESSING = "PROCESSING"  # leased by a worker
    DELIVERED = "DELIVERED"  # its execution succeeded
    FAILED = "FAILED"  # its execution failed


class Direction(TextChoices):
    """Which way an execution goes through the plan."""

    FORWARD = "forward"  # every step in plan order
    REVERSE = "reverse"  # compensation: what was done, last step first


class Operation(TextChoices):
    """What an operator may ask of a transition."""

    EXECUTE = "execute"
    RETRY = "retry"
    COMPENSATE = "compensate"


ACTIVE: Final = (ExecutionStatus.QUEUED, ExecutionStatus.RUNNING)

EXECUTION_MOVES: Final = {
    ExecutionStatus.QUEUED: {ExecutionStatus.RUNNING, ExecutionStatus.FAILED},
    ExecutionStatus.RUNNING: {ExecutionStatus.QUEUED, ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED},
    ExecutionStatus.SUCCEEDED: set(),
    ExecutionStatus.FAILED: set(),
}
RECEIPT_MOVES: Final = {
    ReceiptStatus.PENDING: {ReceiptStatus.RUNNING, ReceiptStatus.FAILED},
    ReceiptStatus.RUNNING: {ReceiptStatus.PENDING, ReceiptStatus.SUCCEEDED, ReceiptStatus.FAILED},
    ReceiptStatus.SUCCEEDED: set(),
    ReceiptStatus.FAILED: set(),
}
COMMAND_MOVES: Final = {
    CommandStatus.PENDING: {CommandStatus.PROCESSING},
    CommandStatus.PROCESSING: {
        CommandStatus.PENDING,
        CommandStatus.PROCESSING,
        CommandStatus.DELIVERED,
        CommandStatus.FAILED,
    },
    CommandStatus.DELIVERED: set(),
    CommandStatus.FAILED: set(),
}


LastState = tuple[Direction, ExecutionStatus] | None  # of a transition's last execution, None if there is none

_DONE: LastState = (Direction.FORWARD, ExecutionStatus.SUCCEEDED)
_BROKEN: LastState = (Direction.FORWARD, ExecutionStatus.FAILED)
_UNDONE: LastState = (Direction.REVERSE, ExecutionStatus.SUCCEEDED)
_HALF_UNDONE: LastState = (Direction.REVERSE, ExecutionStatus.FAILED)

# The state guard: why an operation is refused after an execution that ended so; None where it is allowed.
_REFUSALS: Final[dict[Operation, dict[LastState, str | None]]] = {
    Operation.EXECUTE: {
        None: None,
        _DONE: "it is executed already: compensate it before it can run again",
        _BROKEN: "its last execution FAILED: retry or compensate it",
        _UNDONE: None,
        _HALF_UNDONE: "its compensation FAILED: retry that",
    },
    Operation.RETRY: {
        None: "it was never executed",
        _DONE: "its last execution did not fail",
        _BROKEN: None,
        _UNDONE: "its last execution did not fail",
        _HALF_UNDONE: None,
    },
    Operation.COMPENSATE: {
        None: "it was never executed",
        _DONE: None,
        _BROKEN: None,
        _UNDONE: "it is compensated already",
        _HALF_UNDONE: "its compensation FAILED: retry that",
    },
}


def refusal(operation: Operation, last: LastState, *, anything_to_undo: bool) -> str | None:
    """Why ``operation`` is not allowed after the ``last`` execution of a transition; None where it is."""
    if last is not None and last[1] in ACTIVE:
        return f"an execution of this transition is {last[1]} already"
    if operation is Operation.COMPENSATE and last == _BROKEN and not anything_to_undo:
        return "no step of it succeeded or may have happened: there is nothing to undo"
    return _REFUSALS[operation][last]
