"""The target database of ``sql:v1``, and its side of a receipt: one row a step key, in the target itself."""

from typing import Any, ClassVar, Final

from django.apps.registry import Apps
from django.db import DatabaseError, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q

from outbox.clock import DatabaseNow
from outbox.fields import KeyField

TARGET: Final = "target"  # the alias; the settings fill it from TARGET_DATABASE_URL
NOT_CONFIGURED: Final = "there is no target database: set TARGET_DATABASE_URL"


class TargetNotReady(Exception):
    """There is no target, or no table for receipts in it. Nothing was run, and of earlier runs nothing can be said."""


class TargetNotPrepared(TargetNotReady):
    """The target has no table for receipts, or one that is not as it must be."""


class TargetNotConfigured(TargetNotReady):
    """This process knows no target database."""


class State(models.TextChoices):
    """How far a step came in the target."""

    INTENT = "intent"  # begun; seen by others only where the database commits DDL by itself
    DONE = "done"  # every statement is applied


class ReceiptRow(models.Model):
    """One step in the target. Its registry is its own, so that no migration is ever made for it."""

    idempotency_key = KeyField(max_length=64, primary_key=True)
    step = models.CharField(max_length=220, help_text="direction and step, for a reader")
    fingerprint = KeyField(max_length=64, help_text="SHA-256 over key and payload")
    state = models.CharField(max_length=10, choices=State.choices)
    statements = models.PositiveIntegerField(help_text="how many there are")
    progress = models.PositiveIntegerField(help_text="how many are known to be applied")
    started_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True)

    objects: ClassVar[models.Manager["ReceiptRow"]] = models.Manager()

    class Meta:
        apps = Apps()
        app_label = "outbox_target"
        db_table = "outbox_target_receipt"
        constraints = [
            models.CheckConstraint(condition=Q(state__in=State.values), name="target_receipt_state_is_known"),
            models.CheckConstraint(condition=Q(progress__lte=F("statements")), name="target_receipt_progress_is_true"),
        ]

    def __str__(self) -> str:
        return f"{self.step}: {self.state}, {self.progress} of {self.statements}"


TABLE: Final = ReceiptRow._meta.db_table


def is_configured() -> bool:
    return TARGET in connections.settings


def target_connection() -> BaseDatabaseWrapper:
    """This thread's connection to the target. Raises `TargetNotConfigured`; connects to nothing by itself."""
    if not is_configured():
        raise TargetNotConfigured(NOT_CONFIGURED)
    return connections[TARGET]


def find(key: str) -> ReceiptRow | None:
    """The row under a key. Raises `TargetNotPrepared` if the table is missing. Not to be called in a transaction."""
    try:
        return ReceiptRow.objects.using(TARGET).filter(pk=key).first()
    except DatabaseError as error:
        _explain_missing_table(error)
        raise


def insert(key: str, **values: Any) -> ReceiptRow:
    """Take the key. Blocks while another transaction has taken it, then raises `IntegrityError` if that committed."""
    row = ReceiptRow(pk=key, **values, state=State.INTENT, progress=0, started_at=DatabaseNow())
    row.save(using=TARGET, force_insert=True)
    return row


def record_progress(key: str, progress: int) -> None:
    ReceiptRow.objects.using(TARGET).filter(pk=key).update(progress=progress)


def complete(key: str) -> ReceiptRow:
    """Mark the step as done; returns the row as every later run reads it."""
    rows = ReceiptRow.objects.using(TARGET).filter(pk=key)
    rows.update(state=State.DONE, progress=F("statements"), done_at=DatabaseNow())
    return rows.get()


def prepare() -> bool:
    """Make the receipt table if it is not there; returns whether it was made by this call.

    Raises `TargetNotConfigured`, and `TargetNotPrepared` for a table of that name that is not ours.
    """
    connection = target_connection()
    if made := not _table_exists(connection):
        try:
            with connection.schema_editor() as editor:
                editor.create_model(ReceiptRow)
        except DatabaseError:
            if not _table_exists(connection):
                raise
            made = False  # somebody else was first
    _require_columns(connection)
    return made


def _table_exists(connection: BaseDatabaseWrapper) -> bool:
    return TABLE in connection.introspection.table_names()


def _require_columns(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        found = {column.name for column in connection.introspection.get_table_description(cursor, TABLE)}
    missing = {str(field.column) for field in ReceiptRow._meta.local_fields} - found
    if missing:
        raise TargetNotPrepared(f"table {TABLE} of the target has no column {', '.join(sorted(missing))}")


def _explain_missing_table(error: DatabaseError) -> None:
    """Raise `TargetNotPrepared` if that is what it was; whatever else it was, it stays what it was."""
    connection = target_connection()
    if connection.is_usable() and not _table_exists(connection):
        raise TargetNotPrepared(f"the target has no table {TABLE}: run manage.py prepare_target") from error
