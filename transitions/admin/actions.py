"""The actions of operators on releases, transitions and executions: each one service, its permission and its words."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.utils.translation import gettext_lazy as _

from outbox.admin.acting import Done, OperatorAction
from outbox.admin.formats import duration
from transitions import services
from transitions.admin.manifests import read_manifest
from transitions.admin.previews import preview
from transitions.admin.standing import Standing, standing_of
from transitions.history import History
from transitions.models import Execution, PluginRelease, Transition
from transitions.proposals import refusal_now
from transitions.reconciliation import Reconciled, reconcile_execution
from transitions.releases import trust_release
from transitions.states import Operation


class Trust(OperatorAction):
    """Mark a release as trusted."""

    name = "trust"
    permission = "trust_pluginrelease"
    label = _("Trust")
    template = "admin/transitions/pluginrelease/confirm_trust.html"

    def refusal(self, obj: PluginRelease) -> str | None:
        if obj.trusted_at is not None:
            return str(_("it was trusted by %(who)s already") % {"who": obj.trusted_by})
        return read_manifest(obj).problem

    def seen(self, obj: PluginRelease) -> str:
        return obj.fingerprint

    def preview(self, obj: PluginRelease) -> dict[str, Any]:
        return {**super().preview(obj), "manifest": read_manifest(obj).manifest}

    def perform(self, obj: PluginRelease, username: str) -> Done:
        release = trust_release(plugin=obj.plugin.code, version=obj.version, trusted_by=username)
        message = _("%(release)s is trusted: it can be planned now.") % {"release": release}
        return Done(str(message), f"Trusted, with fingerprint {release.fingerprint}.", release)


class QueueBatch(OperatorAction):
    """Execute, retry or compensate a transition: queue one batch for the workers."""

    template = "admin/transitions/transition/confirm_batch.html"

    def __init__(self, operation: Operation, label: Any, service: Callable[..., Execution]) -> None:
        self.operation = operation
        self.name = str(operation)  # type: ignore[misc]  # one class, three actions
        self.permission = f"{operation}_transition"  # type: ignore[misc]
        self.label = label  # type: ignore[misc]
        self._service = service

    def refusal(self, obj: Transition) -> str | None:
        return refusal_now(self.operation, History.of(obj))

    def seen(self, obj: Transition) -> str:
        """Every batch changes what the next one would do."""
        return str(obj.executions.count())

    def preview(self, obj: Transition) -> dict[str, Any]:
        batch = preview(self.operation, obj)
        return {"refusal": batch.refusal, "batch": batch, "operation": str(self.operation)}

    def perform(self, obj: Transition, username: str) -> Done:
        execution = self._service(transition_id=obj.pk, requested_by=username)
        steps = execution.receipts.count()
        words = {"number": execution.number, "steps": steps, "executor": execution.executor_code}
        message = _("Batch #%(number)s is queued: %(steps)s steps for %(executor)s. A worker will claim it.") % words
        log = f"{self.operation.label}: queued batch #{execution.number}, {steps} steps, {execution.executor_code}."
        return Done(str(message), log, execution)


QUEUE_BATCH = (
    QueueBatch(Operation.EXECUTE, _("Execute"), services.execute_transition),
    QueueBatch(Operation.RETRY, _("Retry"), services.retry_transition),
    QueueBatch(Operation.COMPENSATE, _("Compensate"), services.compensate_transition),
)


class Reconcile(OperatorAction):
    """Free a batch whose worker has gone silent."""

    name = "reconcile"
    permission = "reconcile_execution"
    label = _("Reconcile")
    template = "admin/transitions/execution/confirm_reconcile.html"

    def refusal(self, obj: Execution) -> str | None:
        reason = _REFUSALS.get(standing_of(obj.command))
        words = {"owner": obj.command.lease_owner, "time": duration(obj.command.lease_left)}  # type: ignore[attr-defined]
        return None if reason is None else str(reason % words)

    def preview(self, obj: Execution) -> dict[str, Any]:
        return {**super().preview(obj), "batches": [obj]}

    def perform(self, obj: Execution, username: str) -> Done:
        found = reconcile_execution(execution_id=obj.pk, requested_by=username)
        level = messages.SUCCESS if found.result is Reconciled.RECOVERED else messages.WARNING
        log = RECOVERED_LOG if found.result is Reconciled.RECOVERED else ""
        return Done(str(_OUTCOMES[found.result]), log, found.execution, level)


RECOVERED_LOG = "Reconciled: its lease had expired; it waits for a worker again."

_REFUSALS = {
    Standing.WAITING: _("it waits for a worker: there is nothing to reconcile"),
    Standing.LATER: _("it waits for a worker: there is nothing to reconcile"),
    Standing.PROCESSING: _("it is leased by %(owner)s for %(time)s more"),
    Standing.SUCCEEDED: _("it has ended: it is never replayed"),
    Standing.FAILED: _("it has ended: it is never replayed; retry or compensate its transition"),
}
_OUTCOMES = {
    Reconciled.RECOVERED: _("1 recovered: its lease had expired, a worker can claim it now."),
    Reconciled.ALREADY_WAITING: _("0 recovered: it waits for a worker already."),
    Reconciled.TERMINAL: _("0 recovered: it has ended and is never replayed."),
}
