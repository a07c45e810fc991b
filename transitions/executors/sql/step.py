"""One step of ``sql:v1`` on its way: what is to be done, one statement of it, and the receipt that it ends in."""

from dataclasses import dataclass
from typing import Any

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

from outbox.conflicts import is_contention
from outbox.error_text import storable
from transitions.executors.base import Permanent, PreviousOutcome, StepRequest, TargetReceipt
from transitions.executors.sql import target
from transitions.executors.sql.payload import parse_payload
from transitions.executors.sql.target import ReceiptRow
from transitions.executors.sql.text import excerpt

_MAX_MESSAGE = 2000
# Client errors 2000 to 2999, the server's shutdown and its ends of a connection (killed, idle for too long).
_MYSQL_CONNECTION_ENDS = frozenset({1053, 1927, 4031, *range(2000, 3000)})


class StatementFailed(Permanent):
    """A statement was refused, and nothing of its step remains in the target."""

    code = "statement_failed"


class KeyConflict(Permanent):
    """The target holds a receipt under this key for other statements. Nothing was run."""

    code = "key_conflict"


@dataclass(frozen=True)
class SqlStep:
    """The statements of a step, its key, and what is known of earlier runs."""

    key: str
    name: str
    vendor: str
    statements: tuple[str, ...]
    fingerprint: str
    previous_outcome: PreviousOutcome

    @classmethod
    def of(cls, request: StepRequest) -> "SqlStep":
        """Raises `InvalidPayload`."""
        payload = parse_payload(request.kind, request.payload)
        return cls(
            key=request.key,
            name=f"{request.direction} {request.step_key}",
            vendor=payload.vendor,
            statements=tuple(payload.statements),
            fingerprint=payload.fingerprint(request.key),
            previous_outcome=request.previous_outcome,
        )

    def find_row(self) -> ReceiptRow | None:
        """The target's row for this step. Raises `KeyConflict` if it is for other statements, `TargetNotPrepared`."""
        row = target.find(self.key)
        if row is not None and row.fingerprint != self.fingerprint:
            raise KeyConflict(f"key {self.key} is taken in the target by {row}, which had other statements")
        return row

    def insert_row(self) -> ReceiptRow:
        """Raises `IntegrityError` if the key is taken."""
        return target.insert(self.key, step=self.name, fingerprint=self.fingerprint, statements=len(self.statements))

    def run(self, connection: BaseDatabaseWrapper, position: int) -> None:
        """Run the statement at ``position`` (1 is the first). Raises `StatementFailed` naming it.

        A lost connection or a lost race is raised as it is: it says nothing about the statement.
        """
        try:
            with connection.cursor() as cursor:
                cursor.execute(self.statements[position - 1])
                if connection.vendor == "mysql":
                    _read_all_results(cursor)
        except Exception as error:
            if is_contention(error) or is_lost_connection(connection, error):
                raise
            raise StatementFailed(f"{self.place(position)} failed: {_message(error)}") from error

    def place(self, position: int) -> str:
        """A statement as a message names it."""
        return storable(f"statement {position} of {len(self.statements)} ({excerpt(self.statements[position - 1])})")


def receipt_of(row: ReceiptRow) -> TargetReceipt:
    """The same receipt at every reading."""
    assert row.done_at is not None  # noqa: S101  (written with the state)
    details = {"statements": row.statements, "done_at": row.done_at.isoformat()}
    return TargetReceipt(target_id=f"{target.TABLE}/{row.pk}", fingerprint=row.fingerprint, details=details)


def is_lost_connection(connection: BaseDatabaseWrapper, error: Exception) -> bool:
    """Whether the connection ended, and with it, unseen, what was under way."""
    if not isinstance(error, Error):
        return False
    if connection.vendor == "postgresql":
        return connection.connection is None or bool(connection.connection.closed)
    return connection.vendor == "mysql" and bool(error.args) and error.args[0] in _MYSQL_CONNECTION_ENDS


def _read_all_results(cursor: Any) -> None:
    """A procedure's later results: Django closes the cursor over them, and over their errors, in silence."""
    while cursor.nextset():
        pass


def _message(error: Exception) -> str:
    return storable(str(error).strip())[:_MAX_MESSAGE]
