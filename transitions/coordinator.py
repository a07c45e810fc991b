"""The short transactions of a batch, each held by the lease: its first statement is the fence.

Each raises `LeaseLost` and writes nothing if another worker, or nobody, holds the command. Each may be run again when
nobody knows whether it landed.
"""

import time
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from outbox import claims
from outbox.barriers import reach
from outbox.clock import DatabaseNow
from outbox.held import HeldLease
from outbox.leases import Lease
from transitions.executors.base import TargetReceipt
from transitions.models import Execution, OutboxCommand, StepReceipt
from transitions.states import CommandStatus, ExecutionStatus, ReceiptStatus


@dataclass(frozen=True)
class Batch:
    """An execution and its receipts, as they were when the walk began."""

    execution: Execution
    receipts: list[StepReceipt]


@dataclass(frozen=True)
class Failure:
    """Why an attempt ends. ``outcome_unknown``: the step may have happened all the same."""

    code: str
    error: str
    outcome_unknown: bool = False


def begin(held: HeldLease) -> Batch:
    """Execution RUNNING; a receipt that was RUNNING is PENDING again and marked: it may have happened."""
    reach("claim_to_running")
    alias = held.lease.using
    with transaction.atomic(using=alias, durable=True):
        _renew(held)
        command = OutboxCommand.objects.using(alias).get(pk=held.lease.pk)
        executions = Execution.objects.using(alias).filter(pk=command.execution_id)
        receipts = StepReceipt.objects.using(alias).filter(execution_id=command.execution_id)
        receipts.filter(status=ReceiptStatus.RUNNING).update(status=ReceiptStatus.PENDING, outcome_unknown=True)
        executions.update(status=ExecutionStatus.RUNNING, started_at=Coalesce("started_at", DatabaseNow()))
        execution = executions.select_related("transition__plugin").get()
        return Batch(execution, list(receipts.order_by("position")))


def start_step(held: HeldLease, receipt: StepReceipt) -> None:
    """Receipt RUNNING, lease renewed: from this commit on the step may have happened."""
    reach("before_step_mark")
    with transaction.atomic(using=held.lease.using, durable=True):
        _renew(held)
        _row(receipt).update(status=ReceiptStatus.RUNNING, attempts=receipt.attempts + 1, started_at=DatabaseNow())
    reach("after_step_mark_commit")


def finish_step(held: HeldLease, receipt: StepReceipt, target: TargetReceipt) -> None:
    """Receipt SUCCEEDED with what the target answered."""
    with transaction.atomic(using=held.lease.using, durable=True):
        _renew(held)
        _row(receipt).update(
            status=ReceiptStatus.SUCCEEDED,
            outcome_unknown=False,
            target_id=target.target_id,
            target_fingerprint=target.fingerprint,
            target_details=target.details_text,
            error_code="",
            error="",
            finished_at=DatabaseNow(),
        )
    reach("after_receipt_commit")


def complete(held: HeldLease) -> None:
    """Command DELIVERED, execution SUCCEEDED."""
    reach("before_command_final")
    with transaction.atomic(using=held.lease.using, durable=True):
        claims.settle_held(held.lease, status=CommandStatus.DELIVERED, finished_at=DatabaseNow(), last_error="")
        _execution(held.lease).update(status=ExecutionStatus.SUCCEEDED, finished_at=DatabaseNow())
    reach("after_command_final")


def fail(held: HeldLease, receipt: StepReceipt | None, failure: Failure) -> None:
    """Receipt, execution and command FAILED, together. A retry is a new execution."""
    reach("before_command_final")
    with transaction.atomic(using=held.lease.using, durable=True):
        _fail(held.lease, failure)
        if receipt is not None:
            _fail_receipt(_row(receipt), failure)
    reach("after_command_final")


def postpone(held: HeldLease, receipt: StepReceipt, *, after: float, error: str) -> None:
    """This run did nothing and a later one may: same attempt, claimable again in ``after`` seconds.

    What is unknown of an earlier run stays unknown.
    """
    with transaction.atomic(using=held.lease.using, durable=True):
        claims.release_held(held.lease, available_in=after, last_error=error)
        _row(receipt).update(status=ReceiptStatus.PENDING, error_code="retry_later", error=error)
        _execution(held.lease).update(status=ExecutionStatus.QUEUED)


def hand_back(held: HeldLease, *, after: float | None = None, error: str | None = None) -> None:
    """Between two steps: the rest of the batch is claimable at once, or in ``after`` seconds because of ``error``."""
    values = {} if error is None else {"last_error": error}
    with transaction.atomic(using=held.lease.using, durable=True):
        claims.release_held(held.lease, available_in=after, **values)
        _execution(held.lease).update(status=ExecutionStatus.QUEUED)


def exhaust(lease: Lease, *, max_deliveries: int) -> None:
    """Take out a batch that was claimed ``max_deliveries`` times and never ended: it may be killing its workers."""
    reason = f"delivered {max_deliveries} times without an end: the step may be killing its worker"
    with transaction.atomic(using=lease.using, durable=True):
        _fail(lease, Failure("delivery_limit", reason), delivery_count=max_deliveries)
        receipts = StepReceipt.objects.using(lease.using).filter(execution__command__pk=lease.pk)
        undone = receipts.exclude(status=ReceiptStatus.SUCCEEDED).order_by("position").first()
        if undone is not None:
            may_have_happened = undone.status == ReceiptStatus.RUNNING or undone.outcome_unknown
            _fail_receipt(_row(undone), Failure("delivery_limit", reason, outcome_unknown=may_have_happened))


def _renew(held: HeldLease) -> None:
    sent_at = time.monotonic()
    claims.renew(held.lease, lease_seconds=held.lease_seconds)
    held.renewed(sent_at)


def _fail(lease: Lease, failure: Failure, **values: int) -> None:
    claims.settle_held(
        lease, status=CommandStatus.FAILED, last_error=failure.error, finished_at=DatabaseNow(), **values
    )
    _execution(lease).update(status=ExecutionStatus.FAILED, finished_at=DatabaseNow())


def _fail_receipt(receipts: QuerySet[StepReceipt], failure: Failure) -> None:
    receipts.update(
        status=ReceiptStatus.FAILED,
        outcome_unknown=failure.outcome_unknown,
        error_code=failure.code,
        error=failure.error,
        finished_at=DatabaseNow(),
    )


def _row(receipt: StepReceipt) -> QuerySet[StepReceipt]:
    """The receipt's row, whatever this transaction may have made of it already: the lease is the fence, not this."""
    return StepReceipt.objects.using(receipt._state.db).filter(pk=receipt.pk)


def _execution(lease: Lease) -> QuerySet[Execution]:
    return Execution.objects.using(lease.using).filter(command__pk=lease.pk)
