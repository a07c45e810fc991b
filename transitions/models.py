"""The durable state of transitions. Statuses and lease columns change only through `services`, `coordinator` and
`reconciliation`; nothing here is edited by hand.
"""

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Case, F, Q, UniqueConstraint, When

from outbox.clock import DatabaseNow
from outbox.fields import KeyField
from outbox.leases import Leased, LeaseStates, lease_constraints, lease_indexes
from transitions.plans import Plan
from transitions.states import ACTIVE, CommandStatus, Direction, ExecutionStatus, ReceiptStatus


class Plugin(models.Model):
    """Something that is released in versions."""

    code = KeyField(max_length=100, unique=True)
    created_at = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        ordering = ("code",)

    def __str__(self) -> str:
        return self.code


class PluginRelease(models.Model):
    """A manifest as it was imported. Immutable; it can be planned once a person has marked it as trusted."""

    plugin = models.ForeignKey(Plugin, on_delete=models.PROTECT, related_name="releases")
    version = KeyField(max_length=50)
    manifest = models.TextField(help_text="canonical JSON, stored as text so that it reads back byte for byte")
    fingerprint = KeyField(max_length=64, help_text="SHA-256 of the manifest")
    imported_at = models.DateTimeField(db_default=DatabaseNow())
    imported_by = models.CharField(max_length=150)
    trusted_at = models.DateTimeField(null=True, blank=True)
    trusted_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        ordering = ("plugin__code", "-id")
        constraints: ClassVar = [
            UniqueConstraint(fields=["plugin", "version"], name="release_version_is_unique"),
        ]
        permissions = (("trust_pluginrelease", "Can mark a plugin release as trusted"),)

    def __str__(self) -> str:
        return f"{self.plugin.code} {self.version}"


class Transition(models.Model):
    """A plugin's way from one release (or none) to another (or none), with its immutable plan."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    plugin = models.ForeignKey(Plugin, on_delete=models.PROTECT, related_name="transitions")
    from_release = models.ForeignKey(PluginRelease, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    to_release = models.ForeignKey(PluginRelease, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    plan_text = models.TextField(help_text="canonical JSON of the plan")
    plan_fingerprint = KeyField(max_length=64, help_text="SHA-256 of the plan")
    planned_at = models.DateTimeField(db_default=DatabaseNow())
    planned_by = models.CharField(max_length=150)

    class Meta:
        ordering = ("-id",)
        permissions = (
            ("execute_transition", "Can execute a transition"),
            ("retry_transition", "Can retry a failed transition"),
            ("compensate_transition", "Can compensate a transition"),
        )

    def __str__(self) -> str:
        versions = [release.version if release else "nothing" for release in (self.from_release, self.to_release)]
        return f"{self.plugin.code}: {versions[0]} → {versions[1]}"

    @property
    def plan(self) -> Plan:
        return Plan.from_canonical(self.plan_text)


class Execution(models.Model):
    """One batch: an attempt to run the plan forward, or to undo what it did."""

    transition = models.ForeignKey(Transition, on_delete=models.PROTECT, related_name="executions")
    number = models.PositiveIntegerField(help_text="1, 2, 3 … within the transition")
    direction = models.CharField(max_length=10, choices=Direction.choices)
    cycle = models.PositiveIntegerField(help_text="goes up when a compensated transition is executed again")
    attempt = models.PositiveIntegerField(help_text="1, then one more a retry, within cycle and direction")
    status = models.CharField(max_length=10, choices=ExecutionStatus.choices, default=ExecutionStatus.QUEUED)
    executor_code = KeyField(max_length=100)
    requested_at = models.DateTimeField(db_default=DatabaseNow())
    requested_by = models.CharField(max_length=150)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # Holds "at most one active execution a transition" on every database; MariaDB has no conditional constraint.
    active_transition = models.GeneratedField(
        expression=Case(When(status__in=[str(status) for status in ACTIVE], then=F("transition_id"))),
        output_field=models.BigIntegerField(null=True),
        db_persist=True,
        unique=True,
        editable=False,
    )

    class Meta:
        ordering = ("-id",)
        constraints: ClassVar = [
            UniqueConstraint(fields=["transition", "number"], name="execution_number_is_unique"),
            models.CheckConstraint(condition=Q(status__in=ExecutionStatus.values), name="execution_status_is_known"),
            models.CheckConstraint(condition=Q(direction__in=Direction.values), name="execution_direction_is_known"),
        ]
        permissions = (("reconcile_execution", "Can reconcile a batch whose lease has expired"),)

    def __str__(self) -> str:
        return f"{self.transition} #{self.number} ({self.direction})"


class StepReceipt(models.Model):
    """One step of one execution, and the receipt that the target gave for it."""

    execution = models.ForeignKey(Execution, on_delete=models.PROTECT, related_name="receipts")
    position = models.PositiveIntegerField(help_text="order within the execution")
    step_key = KeyField(max_length=200)
    kind = models.CharField(max_length=50)
    idempotency_key = KeyField(max_length=64, db_index=True, help_text="the same for every attempt and delivery")
    status = models.CharField(max_length=10, choices=ReceiptStatus.choices, default=ReceiptStatus.PENDING)
    attempts = models.PositiveIntegerField(default=0, help_text="times that the step was handed to the executor")
    outcome_unknown = models.BooleanField(default=False, help_text="an earlier run of the step may have happened")
    target_id = models.CharField(max_length=200, blank=True, default="")
    target_fingerprint = models.CharField(max_length=200, blank=True, default="")
    target_details = models.TextField(blank=True, default="", help_text="JSON, as the executor gave it")
    error_code = models.CharField(max_length=50, blank=True, default="")
    error = models.TextField(blank=True, default="")
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("execution_id", "position")
        constraints: ClassVar = [
            UniqueConstraint(fields=["execution", "position"], name="receipt_position_is_unique"),
            UniqueConstraint(fields=["execution", "step_key"], name="receipt_step_is_unique"),
            models.CheckConstraint(condition=Q(status__in=ReceiptStatus.values), name="receipt_status_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.position}. {self.step_key}"


_COMMAND_LEASE = LeaseStates(waiting=(CommandStatus.PENDING,), leased=CommandStatus.PROCESSING)


class OutboxCommand(Leased):
    """The one command of an execution: what a worker claims."""

    lease_states = _COMMAND_LEASE

    execution = models.OneToOneField(Execution, on_delete=models.PROTECT, related_name="command")
    status = models.CharField(max_length=10, choices=CommandStatus.choices, default=CommandStatus.PENDING)
    created_at = models.DateTimeField(db_default=DatabaseNow())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        indexes: ClassVar = lease_indexes("command")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(status__in=CommandStatus.values), name="command_status_is_known"),
            *lease_constraints("command", _COMMAND_LEASE),
        ]

    def __str__(self) -> str:
        return f"command of {self.execution}"
