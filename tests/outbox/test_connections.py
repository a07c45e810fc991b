"""Connections of a long-lived process, and writes that land in spite of a broken one."""

import pytest
from django.db import DataError, InterfaceError, OperationalError, connection, transaction

from outbox.connections import (
    LARGEST_BACKOFF_SECONDS,
    InsideTransaction,
    assert_no_transaction,
    backoff_seconds,
    close_unfit,
    persist,
)
from tests.together import elsewhere


def failing(*errors: Exception):
    """A write that fails with each of these, then lands."""
    left = list(errors)

    def write() -> str:
        if left:
            raise left.pop(0)
        return "landed"

    return write


def deadlock() -> OperationalError:
    return OperationalError(1213, "Deadlock found")


@pytest.mark.parametrize(
    "errors",
    [[], [OperationalError("gone")], [InterfaceError("closed")], [deadlock()] * 3, [deadlock(), OperationalError("x")]],
    ids=str,
)
def test_a_write_lands_in_spite_of_what_passes(db, errors):
    assert elsewhere(lambda: persist(failing(*errors), using="default", seconds=lambda: 10)) == "landed"


def test_what_cannot_succeed_later_is_raised_at_once(db):
    with pytest.raises(DataError):
        persist(failing(DataError("too long")), using="default", seconds=lambda: 10)


def test_a_race_lost_again_and_again_is_raised(db):
    with pytest.raises(OperationalError):
        persist(failing(*[deadlock()] * 4), using="default", seconds=lambda: 10)


def test_without_time_left_the_error_is_raised(db):
    with pytest.raises(OperationalError):
        persist(failing(OperationalError("gone")), using="default", seconds=lambda: 0)


@pytest.mark.parametrize("failures", [1, 2, 5, 10, 5000])
def test_the_pause_grows_to_its_bound_and_varies(failures):
    ceiling = min(LARGEST_BACKOFF_SECONDS, 2.0 ** min(failures - 1, 10))
    pauses = {backoff_seconds(failures) for _ in range(50)}
    assert ceiling / 2 <= min(pauses) <= max(pauses) <= ceiling
    assert len(pauses) > 1


@pytest.mark.django_db(transaction=True, databases=["default", "target"])
def test_a_connection_left_in_a_transaction_is_replaced():
    def leave_open() -> bool:
        transaction.atomic().__enter__()
        close_unfit()
        assert_no_transaction()
        return connection.get_autocommit() and connection.is_usable()

    def leave_autocommit_off() -> bool:
        connection.set_autocommit(False)
        close_unfit()
        connection.ensure_connection()
        return connection.get_autocommit()

    assert elsewhere(leave_open)
    assert elsewhere(leave_autocommit_off)


@pytest.mark.django_db(transaction=True, databases=["default", "target"])
def test_an_open_transaction_is_noticed():
    with transaction.atomic(), pytest.raises(InsideTransaction, match="'default'"):
        assert_no_transaction()
    assert_no_transaction()
