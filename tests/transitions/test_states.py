"""The state guard, whole."""

import pytest

from transitions.states import (
    ACTIVE,
    COMMAND_MOVES,
    EXECUTION_MOVES,
    RECEIPT_MOVES,
    CommandStatus,
    Direction,
    ExecutionStatus,
    Operation,
    ReceiptStatus,
    refusal,
)

ENDED = [ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED]
ALLOWED = {
    (Operation.EXECUTE, None),
    (Operation.EXECUTE, (Direction.REVERSE, ExecutionStatus.SUCCEEDED)),
    (Operation.RETRY, (Direction.FORWARD, ExecutionStatus.FAILED)),
    (Operation.RETRY, (Direction.REVERSE, ExecutionStatus.FAILED)),
    (Operation.COMPENSATE, (Direction.FORWARD, ExecutionStatus.SUCCEEDED)),
    (Operation.COMPENSATE, (Direction.FORWARD, ExecutionStatus.FAILED)),
}


@pytest.mark.parametrize("last", [None, *((d, s) for d in Direction for s in ENDED)], ids=str)
@pytest.mark.parametrize("operation", Operation)
def test_an_operation_is_allowed_after_exactly_these_ends(operation, last):
    reason = refusal(operation, last, anything_to_undo=True)
    assert (reason is None) == ((operation, last) in ALLOWED), reason


@pytest.mark.parametrize("status", ACTIVE)
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("operation", Operation)
def test_nothing_is_allowed_while_an_execution_is_active(operation, direction, status):
    assert f"is {status} already" in refusal(operation, (direction, status), anything_to_undo=True)


def test_a_failure_before_anything_happened_leaves_nothing_to_compensate():
    last = (Direction.FORWARD, ExecutionStatus.FAILED)
    assert "nothing to undo" in refusal(Operation.COMPENSATE, last, anything_to_undo=False)


@pytest.mark.parametrize(
    ("statuses", "moves"),
    [(ExecutionStatus, EXECUTION_MOVES), (ReceiptStatus, RECEIPT_MOVES), (CommandStatus, COMMAND_MOVES)],
)
def test_every_status_has_its_moves(statuses, moves):
    assert set(moves) == set(statuses)
