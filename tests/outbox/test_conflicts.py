"""Which errors mean that others were in the way, told from real ones of each database."""

import pytest
from django.db import DataError, IntegrityError, InterfaceError, OperationalError, connection, transaction

from outbox.conflicts import is_contention, is_lock_timeout, is_lost_race, is_transient
from tests.barriers import Gate
from tests.together import Background, together
from transitions.models import Plugin


class Caused(Exception):
    """What a driver raised, with what it says of it."""

    def __init__(self, **facts: str) -> None:
        vars(self).update(facts)


def caused(error: Exception, **facts: str) -> Exception:
    error.__cause__ = Caused(**facts)
    return error


@pytest.mark.parametrize(
    "error",
    [
        caused(OperationalError("could not serialize"), sqlstate="40001"),
        caused(OperationalError("deadlock detected"), sqlstate="40P01"),
        OperationalError(1213, "Deadlock found when trying to get lock"),
        OperationalError(1020, "Record has changed since last read"),
    ],
    ids=str,
)
def test_a_lost_race_is_contention_and_passes(error):
    assert is_lost_race(error)
    assert not is_lock_timeout(error)
    assert is_contention(error)
    assert is_transient(error)


@pytest.mark.parametrize(
    "error",
    [
        caused(OperationalError("lock timeout"), sqlstate="55P03"),
        OperationalError(1205, "Lock wait timeout exceeded"),
        caused(OperationalError("database is locked"), sqlite_errorname="SQLITE_BUSY"),
        caused(OperationalError("database is locked"), sqlite_errorname="SQLITE_BUSY_SNAPSHOT"),
        caused(OperationalError("database table is locked"), sqlite_errorname="SQLITE_LOCKED"),
    ],
    ids=str,
)
def test_a_lock_that_was_waited_for_in_vain_is_contention_and_passes(error):
    assert is_lock_timeout(error)
    assert not is_lost_race(error)
    assert is_contention(error)
    assert is_transient(error)


@pytest.mark.parametrize(
    "error", [OperationalError(2006, "Server has gone away"), InterfaceError("connection already closed")], ids=str
)
def test_a_connection_that_is_gone_passes_and_is_no_contention(error):
    assert is_transient(error)
    assert not is_contention(error)


@pytest.mark.parametrize(
    "error",
    [
        caused(IntegrityError("duplicate key"), sqlstate="23505"),
        IntegrityError(1062, "Duplicate entry"),
        DataError("value too long"),
        RuntimeError(1213),
        ValueError(),
    ],
    ids=repr,
)
def test_what_would_fail_again_does_not_pass(error):
    assert not is_transient(error)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time, and so no deadlock")
def test_a_real_deadlock_is_a_lost_race_for_one_of_two():
    first, second = (Plugin.objects.create(code=code) for code in ("a", "b"))
    both_hold = [Gate(), Gate()]

    def crossed(mine: Plugin, others: Plugin, gate: Gate, other_gate: Gate) -> None:
        with transaction.atomic():
            Plugin.objects.filter(pk=mine.pk).update(code=f"{mine.code}!")
            other_gate.open()
            gate()
            Plugin.objects.filter(pk=others.pk).update(code=f"{others.code}?")

    answers = together(
        lambda: crossed(first, second, both_hold[0], both_hold[1]),
        lambda: crossed(second, first, both_hold[1], both_hold[0]),
    )
    (lost,) = [answer for answer in answers if answer is not None]
    assert is_lost_race(lost), lost


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="on a server only the rows are locked")
def test_a_real_time_out_of_a_lock_on_sqlite_is_told_as_one():
    gate = Gate()

    def hold() -> None:
        with transaction.atomic():
            gate()

    def wait_in_vain() -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 1")
        Plugin.objects.create(code="late")

    with Background(hold):
        gate.wait_until_reached()
        try:
            (error,) = together(wait_in_vain)
        finally:
            gate.open()
    assert is_lock_timeout(error)
