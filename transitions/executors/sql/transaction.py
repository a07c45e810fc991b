"""``sql:v1`` where everything can be rolled back: the statements and their receipt in one transaction of the target."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from outbox.conflicts import is_contention
from outbox.connections import persist
from transitions.executors.base import OutcomeUnknown, RetryLater
from transitions.executors.sql import target
from transitions.executors.sql.step import SqlStep, StatementFailed
from transitions.executors.sql.target import TARGET, ReceiptRow, State, target_connection

RECONNECT_SECONDS: Final = 15.0


def apply(step: SqlStep) -> ReceiptRow:
    """Commit statements and receipt, or find them committed. `StatementFailed` means that nothing of it remains."""
    return _Application(step).land()


class _Application:
    """The one transaction of a step: take the key, run the statements, complete the receipt."""

    def __init__(self, step: SqlStep) -> None:
        self._step = step
        self._may_be_committed = False

    def land(self) -> ReceiptRow:
        """Commit it, or find it committed; a broken connection is replaced, since the key makes that safe."""
        ends_at = time.monotonic() + RECONNECT_SECONDS
        try:
            return persist(self._try, using=TARGET, seconds=lambda: ends_at - time.monotonic())
        except (OperationalError, InterfaceError) as error:
            self._judge(error)
            raise

    def _judge(self, error: Exception) -> None:
        """Say what is known of the target where no more can be tried; returns if the error itself says it."""
        if self._may_be_committed:
            raise OutcomeUnknown("the connection broke at COMMIT, and the target can't be asked") from error
        if is_contention(error):
            raise RetryLater("the target was busy, and this run did nothing", after=5) from error

    def _try(self) -> ReceiptRow:
        if (row := self._step.find_row()) is not None:
            return _done(row)
        connection = target_connection()
        try:
            with _as_schema_editor(connection), transaction.atomic(using=TARGET, durable=True):
                return self._apply(connection)
        except _KeyTaken:
            row = self._step.find_row()
            if row is None:
                raise RetryLater("the receipt under the step's key was removed meanwhile", after=1) from None
            return _done(row)

    def _apply(self, connection: BaseDatabaseWrapper) -> ReceiptRow:
        self._take_key()
        for position in range(1, len(self._step.statements) + 1):
            self._step.run(connection, position)
        _check_foreign_keys(connection)
        _find_own_table(connection)
        row = target.complete(self._step.key)
        self._may_be_committed = True
        return row

    def _take_key(self) -> None:
        """The first statement: a second run of the step waits here until the first has committed or rolled back."""
        try:
            self._step.insert_row()
        except IntegrityError as error:
            raise _KeyTaken from error
        # An earlier try whose COMMIT got lost is known not to have landed: its key would be taken.
        self._may_be_committed = False


class _KeyTaken(Exception):
    """Another run of the step committed first."""


def _done(row: ReceiptRow) -> ReceiptRow:
    if row.state != State.DONE:
        raise OutcomeUnknown(f"the target holds an unfinished step under this key: {row}")
    return row


@contextmanager
def _as_schema_editor(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """On SQLite no foreign key is enforced, as in Django's own schema editor: a table is remade by dropping the old
    one, which would take the rows that refer to it along. `_check_foreign_keys` looks at the result instead. The
    switch works outside a transaction only.
    """
    if connection.vendor != "sqlite":
        yield
        return
    connection.disable_constraint_checking()
    try:
        yield
    finally:
        connection.enable_constraint_checking()


def _check_foreign_keys(connection: BaseDatabaseWrapper) -> None:
    """What was deferred, or on SQLite not enforced, is found before COMMIT. Raises `StatementFailed`."""
    try:
        if connection.vendor == "postgresql":
            connection.check_constraints()
    except IntegrityError as error:
        raise StatementFailed(f"after the last statement: {error}") from error
    if connection.vendor == "sqlite" and (broken := _ask_sqlite(connection)):
        table, row, parent, _ = broken
        raise StatementFailed(f"after the last statement: row {row} of {table} refers to no row of {parent}")


def _ask_sqlite(connection: BaseDatabaseWrapper) -> Any:
    """A foreign key without its row. Django's own check fails where the table has no primary key."""
    with connection.cursor() as cursor:
        return cursor.execute("PRAGMA foreign_key_check").fetchone()


def _find_own_table(connection: BaseDatabaseWrapper) -> None:
    """A plugin with a schema of its own may have set the search path, which hides the table of receipts."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("RESET search_path")
