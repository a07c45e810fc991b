"""The invariants I1, I3, I5 to I9 of the case list, as far as the tables show them. Asked after every case."""

from collections.abc import Iterable

from outbox import conf
from transitions.models import Execution, OutboxCommand, StepReceipt
from transitions.states import CommandStatus, Direction, ExecutionStatus, ReceiptStatus

TERMINAL = {CommandStatus.DELIVERED, CommandStatus.FAILED}


def assert_invariants(*, max_deliveries: int | None = None) -> None:
    """Every command, execution and receipt of the database keeps every promise that can be seen at rest."""
    limit = max_deliveries or conf.number("MAX_DELIVERIES")
    commands = OutboxCommand.objects.select_related("execution__transition").order_by("pk")
    for command in commands:
        receipts = list(StepReceipt.objects.filter(execution_id=command.execution_id).order_by("position"))
        name = f"{command} ({command.status}/{command.execution.status}/{[r.status for r in receipts]})"
        _assert_not_lost(command, name)
        _assert_known_triple(command, receipts, name)
        _assert_plan_order(command.execution, receipts, name)
        _assert_limits(command, receipts, limit, name)
    assert not Execution.objects.filter(command=None).exists(), "I1: an execution without a command"
    _assert_one_key_a_step()


def _assert_not_lost(command: OutboxCommand, name: str) -> None:
    """I1 and I5: terminal, waiting with a time, or leased with a token and an end; no token outlives its lease."""
    if command.status == CommandStatus.PROCESSING:
        assert command.lease_token is not None, f"I1: {name} is leased by nobody"
        assert command.lease_until is not None, f"I1: {name} is leased for ever"
        assert command.leased_at is not None, f"I1: {name} was leased at no time"
    else:
        assert command.lease_token is None, f"I5: {name} keeps a token"
        assert command.lease_until is None, f"I5: {name} keeps a deadline"
    assert (command.finished_at is not None) == (command.status in TERMINAL), f"I6: {name} finished_at"


def _assert_known_triple(command: OutboxCommand, receipts: list[StepReceipt], name: str) -> None:
    """I7: the states that `docs/state_machine.md` lists as at rest together, and no other."""
    statuses = [receipt.status for receipt in receipts]
    running = statuses.count(ReceiptStatus.RUNNING)
    match (command.status, command.execution.status):
        case (CommandStatus.PENDING, ExecutionStatus.QUEUED) | (CommandStatus.PROCESSING, ExecutionStatus.QUEUED):
            fits = running == 0 and _is_prefix(statuses, [])
        case (CommandStatus.PROCESSING, ExecutionStatus.RUNNING):
            fits = running <= 1 and _is_prefix(statuses, [ReceiptStatus.RUNNING] * running)
        case (CommandStatus.DELIVERED, ExecutionStatus.SUCCEEDED):
            fits = set(statuses) <= {ReceiptStatus.SUCCEEDED}
        case (CommandStatus.FAILED, ExecutionStatus.FAILED):
            # The documented exception: the delivery limit after the last success leaves no FAILED receipt.
            fits = _is_prefix(statuses, [ReceiptStatus.FAILED]) or set(statuses) <= {ReceiptStatus.SUCCEEDED}
        case _:
            fits = False
    assert fits, f"I7: {name}"


def _is_prefix(statuses: list[str], middle: Iterable[str]) -> bool:
    """SUCCEEDED ones first, then ``middle``, then PENDING ones."""
    middle = list(middle)
    done = next((n for n, status in enumerate(statuses) if status != ReceiptStatus.SUCCEEDED), len(statuses))
    rest = statuses[done:]
    return rest[: len(middle)] == middle and set(rest[len(middle) :]) <= {ReceiptStatus.PENDING}


def _assert_plan_order(execution: Execution, receipts: list[StepReceipt], name: str) -> None:
    """I8: receipts stand in plan order, in compensation in reverse."""
    plan = [step.key for step in execution.transition.plan.steps]
    if execution.direction == Direction.REVERSE:
        plan.reverse()
    places = [plan.index(receipt.step_key) for receipt in receipts]
    assert places == sorted(places), f"I8: {name} is out of order"
    times = [r.finished_at for r in receipts if r.status == ReceiptStatus.SUCCEEDED]
    assert times == sorted(times), f"I8: {name} ran out of order"


def _assert_limits(command: OutboxCommand, receipts: list[StepReceipt], limit: int, name: str) -> None:
    """I9. A row at the limit plus one is about to be taken out; it is at rest so only while it is leased."""
    highest = limit + (command.status == CommandStatus.PROCESSING)
    assert 0 <= command.delivery_count <= highest, f"I9: {name} was delivered {command.delivery_count} times"
    assert all(r.attempts <= conf.number("MAX_STEP_ATTEMPTS") for r in receipts), f"I9: {name} attempts"


def _assert_one_key_a_step() -> None:
    """I3: one logical step has one key for ever, and no two have the same."""
    step_of_key: dict[str, object] = {}
    key_of_step: dict[object, str] = {}
    for receipt in StepReceipt.objects.select_related("execution"):
        execution = receipt.execution
        step = (execution.transition_id, execution.cycle, execution.direction, receipt.step_key)
        assert step_of_key.setdefault(receipt.idempotency_key, step) == step, f"I3: one key for {step} and another"
        assert key_of_step.setdefault(step, receipt.idempotency_key) == receipt.idempotency_key, f"I3: two keys: {step}"
