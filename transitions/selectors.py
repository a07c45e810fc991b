"""Reads for the command line and the admin. Nothing is decided on what they return."""

import json
from datetime import datetime
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F

from outbox.clock import DatabaseNow
from transitions.errors import TransitionError
from transitions.models import Execution, OutboxCommand, PluginRelease, StepReceipt, Transition


def execution_report(execution_id: int) -> dict[str, Any]:
    """An execution with its command and receipts, as JSON types. Raises `TransitionError` if there is none."""
    rows = Execution.objects.select_related("transition__plugin", *_RELEASES, "command")
    left = ExpressionWrapper(F("command__lease_until") - DatabaseNow(), output_field=DurationField())
    execution = rows.annotate(lease_left=left).filter(pk=execution_id).first()
    if execution is None:
        raise TransitionError(f"there is no execution {execution_id}")
    return {
        **_execution(execution),
        "command": _command(execution.command, execution.lease_left),
        "receipts": [_receipt(receipt) for receipt in execution.receipts.order_by("position")],
    }


def transition_report(transition: Transition) -> dict[str, Any]:
    """A transition with its plan, step by step."""
    return {
        "transition": transition.pk,
        "name": str(transition),
        "plan_fingerprint": transition.plan_fingerprint,
        "steps": [
            {"key": step.key, "kind": step.kind, "release": step.release, "reversible": step.reversible}
            for step in transition.plan.steps
        ],
    }


def release_report(release: PluginRelease) -> dict[str, Any]:
    """A release without its payloads."""
    manifest = json.loads(release.manifest)
    return {
        "plugin": release.plugin.code,
        "version": release.version,
        "fingerprint": release.fingerprint,
        "contributions": [contribution["key"] for contribution in manifest["contributions"]],
        "left_out": manifest["left_out"],
        "trusted_by": release.trusted_by or None,
        "trusted_at": _iso(release.trusted_at),
    }


_RELEASES = ("transition__from_release", "transition__to_release")


def _execution(execution: Execution) -> dict[str, Any]:
    names = ("number", "direction", "cycle", "attempt", "status", "executor_code", "requested_by")
    return {
        "execution": execution.pk,
        "transition": execution.transition_id,
        "name": str(execution.transition),
        **{name: getattr(execution, name) for name in names},
        **{name: _iso(getattr(execution, name)) for name in ("requested_at", "started_at", "finished_at")},
    }


def _command(command: OutboxCommand, lease_left: Any) -> dict[str, Any]:
    return {
        "status": command.status,
        "available_at": _iso(command.available_at),
        "delivery_count": command.delivery_count,
        "lease_owner": command.lease_owner,
        "lease_until": _iso(command.lease_until),
        "lease_seconds_left": None if lease_left is None else round(lease_left.total_seconds(), 1),
        "last_error": command.last_error,
    }


def _receipt(receipt: StepReceipt) -> dict[str, Any]:
    names = ("position", "step_key", "kind", "status", "attempts", "outcome_unknown", "idempotency_key", "target_id")
    return {
        **{name: getattr(receipt, name) for name in (*names, "target_fingerprint", "error_code", "error")},
        "target_details": json.loads(receipt.target_details) if receipt.target_details else None,
        "finished_at": _iso(receipt.finished_at),
    }


def _iso(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant else None
