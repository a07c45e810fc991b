"""Execute, retry, compensate: the one transaction that queues a batch. No executor is called here."""

import structlog
from django.db import router, transaction

from transitions.errors import TransitionError
from transitions.models import Execution, OutboxCommand, StepReceipt, Transition
from transitions.plans import PlanStep, idempotency_key
from transitions.proposals import Proposal, propose
from transitions.states import Direction, Operation

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

    One transaction, in the order of the reference; under the transition's row lock. Raises what `propose` raises,
    before the first insert. The caller has checked that the person may do this.
    """
    alias = router.db_for_write(Transition)
    with transaction.atomic(using=alias):
        locked = _locked_transition(alias, transition_id)
        proposal = propose(operation, locked)
        execution = _insert_execution(locked, proposal, requested_by)
        _insert_work(execution, proposal)
    log.info("execution_queued", execution=execution.pk, transition=locked.pk, operation=operation, by=requested_by)
    return execution


def _locked_transition(alias: str, transition_id: int) -> Transition:
    locked = Transition.objects.using(alias).select_for_update().filter(pk=transition_id).first()
    if locked is None:
        raise TransitionError(f"there is no transition {transition_id}")
    return locked


def _insert_execution(transition: Transition, proposal: Proposal, requested_by: str) -> Execution:
    history, operation = proposal.history, proposal.operation
    return Execution.objects.using(transition._state.db).create(
        transition=transition,
        number=history.count + 1,
        direction=proposal.direction,
        cycle=history.cycle + (operation is Operation.EXECUTE),
        attempt=history.attempt + 1 if operation is Operation.RETRY else 1,
        executor_code=proposal.executor_code,
        requested_by=requested_by,
    )


def _insert_work(execution: Execution, proposal: Proposal) -> None:
    receipts = [_receipt(execution, position, each.step) for position, each in enumerate(proposal.steps, start=1)]
    if proposal.operation is Operation.RETRY:
        for receipt in receipts:
            receipt.outcome_unknown = receipt.step_key in proposal.history.in_doubt
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
