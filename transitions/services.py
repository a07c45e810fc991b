"""Execute, retry, compensate: the one transaction that queues a batch. No executor is called here."""

from collections.abc import Iterable

import structlog
from django.db import router, transaction

from outbox import conf
from transitions import contributions
from transitions.errors import NotAllowed, TransitionError
from transitions.executors.base import get_executor
from transitions.history import History
from transitions.models import Execution, OutboxCommand, StepReceipt, Transition
from transitions.plans import Plan, PlanStep, idempotency_key, payload_of
from transitions.states import Direction, Operation, refusal

log = structlog.get_logger(__name__)


def execute_transition(*, transition_id: int, requested_by: str) -> Execution:
    """Queue the whole plan, forward. Allowed if it was never executed or was compensated since. See `_enqueue`."""
    return _enqueue(Operation.EXECUTE, transition_id, requested_by)


def retry_transition(*, transition_id: int, requested_by: str) -> Execution:
    """Queue what the failed last execution left undone, in its direction, with the same step keys. See `_enqueue`."""
    return _enqueue(Operation.RETRY, transition_id, requested_by)


def compensate_transition(*, transition_id: int, requested_by: str) -> Execution:
    """Queue the undoing, in reverse order, of what succeeded or may have happened. See `_enqueue`."""
    return _enqueue(Operation.COMPENSATE, transition_id, requested_by)


def _enqueue(operation: Operation, transition_id: int, requested_by: str) -> Execution:
    """Insert a QUEUED execution, its PENDING receipts and its PENDING command: all or, on any error, nothing.

    One transaction, in the order of the reference. Raises a `TransitionError` (`NotAllowed`, `PlanChanged`,
    `UntrustedContribution`, `ContributionChanged`, `NoReverse`, `UnknownExecutor`, `InvalidPayload`) before the first
    insert. The caller has checked that the person may do this.
    """
    alias = router.db_for_write(Transition)
    with transaction.atomic(using=alias):
        locked = _locked_transition(alias, transition_id)
        plan = contributions.verified_plan(locked)
        history = History.of(locked)
        _guard(operation, history)
        direction, steps = _work(operation, history, plan)
        executor_code = conf.executor_code() if operation is Operation.EXECUTE else history.executor_code
        _resolve_all(locked, plan, steps, direction, executor_code)
        execution = _insert_execution(locked, history, operation, direction, executor_code, requested_by)
        _insert_work(execution, steps)
    log.info("execution_queued", execution=execution.pk, transition=locked.pk, operation=operation, by=requested_by)
    return execution


def _locked_transition(alias: str, transition_id: int) -> Transition:
    locked = Transition.objects.using(alias).select_for_update().filter(pk=transition_id).first()
    if locked is None:
        raise TransitionError(f"there is no transition {transition_id}")
    return locked


def _guard(operation: Operation, history: History) -> None:
    reason = refusal(operation, history.last_state, anything_to_undo=bool(history.to_undo))
    if reason is not None:
        raise NotAllowed(f"can't {operation} this transition: {reason}")


def _work(operation: Operation, history: History, plan: Plan) -> tuple[Direction, list[PlanStep]]:
    """Which way, and which steps in which order."""
    if operation is Operation.EXECUTE:
        return Direction.FORWARD, list(plan.steps)
    if operation is Operation.COMPENSATE:
        return Direction.REVERSE, [step for step in reversed(plan.steps) if step.key in history.to_undo]
    direction = history.last_direction
    steps = plan.steps if direction == Direction.FORWARD else reversed(plan.steps)
    return direction, [step for step in steps if step.key in history.left_undone]


def _resolve_all(
    transition: Transition, plan: Plan, steps: Iterable[PlanStep], direction: Direction, executor_code: str
) -> None:
    """Every trusted payload is there, can be run, and suits the executor."""
    executor = get_executor(executor_code)
    resolved = contributions.resolve(plan, plugin_id=transition.plugin_id, using=transition._state.db or "default")
    for step in steps:
        executor.check_payload(step.kind, payload_of(step, resolved[step.key], direction))


def _insert_execution(
    transition: Transition,
    history: History,
    operation: Operation,
    direction: Direction,
    executor_code: str,
    requested_by: str,
) -> Execution:
    return Execution.objects.using(transition._state.db).create(
        transition=transition,
        number=history.count + 1,
        direction=direction,
        cycle=history.cycle + (operation is Operation.EXECUTE),
        attempt=history.attempt + 1 if operation is Operation.RETRY else 1,
        executor_code=executor_code,
        requested_by=requested_by,
    )


def _insert_work(execution: Execution, steps: list[PlanStep]) -> None:
    receipts = [_receipt(execution, position, step) for position, step in enumerate(steps, start=1)]
    StepReceipt.objects.using(execution._state.db).bulk_create(receipts)
    OutboxCommand.objects.using(execution._state.db).create(execution=execution)


def _receipt(execution: Execution, position: int, step: PlanStep) -> StepReceipt:
    transition = execution.transition
    key = idempotency_key(
        str(transition.uid),
        transition.plan_fingerprint,
        execution.cycle,
        Direction(execution.direction),
        step.key,
    )
    return StepReceipt(execution=execution, position=position, step_key=step.key, kind=step.kind, idempotency_key=key)
