"""``sql:v1`` where DDL commits by itself (MySQL, MariaDB): an intent first, and progress after each statement.

No transaction can hold such a step together. What is promised instead: it is never run twice by itself, never by two at
once, and the row in the target says which statements are applied and which one may be.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from django.db import Error, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from outbox.conflicts import is_contention
from transitions.canonical import fingerprint
from transitions.executors.base import OutcomeUnknown, PreviousOutcome, RetryLater
from transitions.executors.sql import target
from transitions.executors.sql.step import SqlStep, StatementFailed
from transitions.executors.sql.target import TARGET, ReceiptRow, State
from transitions.executors.sql.text import is_plain_dml, may_stop_halfway

LOCK_SECONDS: Final = 30


def apply(step: SqlStep, connection: BaseDatabaseWrapper) -> ReceiptRow:
    """Apply the statements, or find them applied; whole, or `OutcomeUnknown` with what is applied and what may be.

    A person's retry goes on after the recorded progress. `StatementFailed` means that nothing is applied.
    """
    with _only_runner(step, connection):
        row = step.find_row()
        fresh = row is None
        if row is None:
            row = step.insert_row()  # commits: from here on everybody can see that the step may have happened
        elif row.state != State.DONE and row.progress < row.statements:
            _require_a_person(step, row)
        if row.state == State.DONE:
            return row
        return _Continuation(step, connection, first=row.progress + 1, fresh=fresh).run()


class _Continuation:
    """The statements from ``first`` on."""

    def __init__(self, step: SqlStep, connection: BaseDatabaseWrapper, *, first: int, fresh: bool) -> None:
        self._step = step
        self._connection = connection
        self._first = first
        self._fresh = fresh

    def run(self) -> ReceiptRow:
        for position in range(self._first, len(self._step.statements) + 1):
            try:
                self._run(position)
            except StatementFailed as error:
                self._give_up(position, error)
            except Error as error:
                raise OutcomeUnknown(_standing(self._step, position - 1)) from error
        return target.complete(self._step.key)

    def _run(self, position: int) -> None:
        """Plain DML commits with its progress; beside a statement that commits by itself there is a gap."""
        if is_plain_dml(self._step.statements[position - 1]):
            with transaction.atomic(using=TARGET, durable=True):
                self._statement(position)
                target.record_progress(self._step.key, position)
        else:
            self._statement(position)
            target.record_progress(self._step.key, position)

    def _statement(self, position: int) -> None:
        try:
            self._step.run(self._connection, position)
        except Error as error:
            if not is_contention(error):
                raise
            raise StatementFailed(f"{self._step.place(position)} waited in vain for a lock: {error}") from error

    def _give_up(self, position: int, error: StatementFailed) -> None:
        """Raises the failure as it is where nothing is applied, and what remains where something is or may be."""
        halfway = may_stop_halfway(self._step.statements[position - 1])
        if position == 1 and self._fresh and not halfway:
            ReceiptRow.objects.using(TARGET).filter(pk=self._step.key).delete()
            raise error
        doubt = ", and a part of it may be applied" if halfway else ""
        raise OutcomeUnknown(f"{error}{doubt}. {_applied(position - 1)} {_way_on(self._step, position)}") from error


def _require_a_person(step: SqlStep, row: ReceiptRow) -> None:
    """An earlier run broke off. Only a person who asked for a retry has seen how the target stands."""
    if step.previous_outcome is not PreviousOutcome.FAILED:
        raise OutcomeUnknown(f"an earlier run broke off. {_standing(step, row.progress)}")


def _standing(step: SqlStep, progress: int) -> str:
    """What is known after ``progress`` statements, and what is not."""
    undecided = progress + 1
    if is_plain_dml(step.statements[progress]):
        # Its progress would have been recorded in the same transaction.
        certainty = f"{step.place(undecided)} is not applied."
    else:
        certainty = f"{step.place(undecided)} may or may not be applied."
    return f"{certainty} {_applied(progress)} {_way_on(step, undecided)}"


def _applied(progress: int) -> str:
    if progress == 0:
        return "No statement came before it."
    return "Statement 1 is applied." if progress == 1 else f"Statements 1 to {progress} are applied."


def _way_on(step: SqlStep, position: int) -> str:
    """What a person can do, with the very command for what a program can't decide."""
    told = f"UPDATE {target.TABLE} SET progress = {position} WHERE idempotency_key = '{step.key}'"  # noqa: S608
    return f"A retry goes on with statement {position}; if that is applied already, first run on the target: {told}"


@contextmanager
def _only_runner(step: SqlStep, connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Hold the step's lock on the session that runs its statements.

    The server lets the lock go when that session ends, and a session outlives its client for as long as its statement
    runs: who has the lock knows that no earlier run is under way. A row lock would end at the first implicit commit.
    """
    name = _lock_name(step, connection)
    if not _ask(connection, "SELECT GET_LOCK(%s, %s)", name, LOCK_SECONDS):
        raise RetryLater("another run of this step is under way, and this one did nothing", after=LOCK_SECONDS)
    try:
        yield
    finally:
        with suppress(Error):  # the connection is gone, and the lock with it
            _ask(connection, "SELECT RELEASE_LOCK(%s)", name)


def _lock_name(step: SqlStep, connection: BaseDatabaseWrapper) -> str:
    """Locks are known to the whole server, receipts to one database; a name has at most 64 characters."""
    database = connection.settings_dict["NAME"]
    return "outbox:" + fingerprint(f"{database}:{step.key}")[:48]


def _ask(connection: BaseDatabaseWrapper, query: str, *parameters: str | int) -> object:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return cursor.fetchone()[0]
