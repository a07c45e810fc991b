"""What an operator may do about a batch that seems stuck: free it if, and only if, its lease has ended."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

import structlog
from django.db import router, transaction
from django.db.models import F
from django.db.models.expressions import ExpressionWrapper
from django.db.models.fields import DurationField

from outbox import claims
from outbox.barriers import reach
from outbox.clock import DatabaseNow
from transitions.errors import LeaseActive, TransitionError
from transitions.models import Execution, OutboxCommand, StepReceipt
from transitions.states import CommandStatus, ExecutionStatus, ReceiptStatus

log = structlog.get_logger(__name__)


class Reconciled(StrEnum):
    """What a reconciliation found, and did."""

    ALREADY_WAITING = "already_waiting"  # PENDING: a worker will claim it; unchanged
    RECOVERED = "recovered"  # the lease had ended: PENDING again, execution QUEUED
    TERMINAL = "terminal"  # DELIVERED or FAILED: unchanged, never replayed


@dataclass(frozen=True)
class Reconciliation:
    execution: Execution
    result: Reconciled


def reconcile_execution(*, execution_id: int, requested_by: str) -> Reconciliation:
    """Put a batch whose lease has expired back to PENDING, in one transaction; anything else stays as it is.

    Raises `LeaseActive`, with owner and seconds left, while a worker holds it. Of two operators at once one recovers
    the batch, the other is told that it waits already.
    """
    alias = router.db_for_write(OutboxCommand)
    with transaction.atomic(using=alias):
        command = _locked_command(alias, execution_id)
        result = _result(command, alias)
    log.info("execution_reconciled", execution=execution_id, result=result, by=requested_by)
    execution = Execution.objects.using(alias).select_related("command", "transition__plugin").get(pk=execution_id)
    return Reconciliation(execution, result)


def _locked_command(alias: str, execution_id: int) -> OutboxCommand:
    command = OutboxCommand.objects.using(alias).select_for_update().filter(execution_id=execution_id).first()
    if command is None:
        raise TransitionError(f"there is no execution {execution_id}")
    return command


def _result(command: OutboxCommand, alias: str) -> Reconciled:
    if command.status == CommandStatus.PENDING:
        return Reconciled.ALREADY_WAITING
    if command.status != CommandStatus.PROCESSING:
        return Reconciled.TERMINAL
    if not claims.expire(OutboxCommand, command.pk, using=alias):
        raise LeaseActive(command.lease_owner, _seconds_left(command, alias))
    reach("during_reconcile")
    receipts = StepReceipt.objects.using(alias).filter(execution_id=command.execution_id)
    receipts.filter(status=ReceiptStatus.RUNNING).update(status=ReceiptStatus.PENDING, outcome_unknown=True)
    Execution.objects.using(alias).filter(pk=command.execution_id).update(status=ExecutionStatus.QUEUED)
    return Reconciled.RECOVERED


def _seconds_left(command: OutboxCommand, alias: str) -> float:
    """By the database's clock."""
    left = ExpressionWrapper(F("lease_until") - DatabaseNow(), output_field=DurationField())
    rows = OutboxCommand.objects.using(alias).filter(pk=command.pk)
    remaining: timedelta = rows.values_list(left, flat=True).get()
    return max(0.0, remaining.total_seconds())
