"""Which database errors mean "somebody else was first", "somebody is in the way", or "the connection is gone"."""

from django.db import DatabaseError, InterfaceError, OperationalError

# PostgreSQL: serialization_failure, deadlock_detected. MySQL and MariaDB: deadlock, and "record has changed since last
# read" (snapshot isolation).
_LOST_RACE_STATES = frozenset({"40001", "40P01"})
_LOST_RACE_NUMBERS = frozenset({1020, 1213})
_LOCK_TIMEOUT_STATES = frozenset({"55P03"})
_LOCK_TIMEOUT_NUMBERS = frozenset({1205})


def is_lost_race(error: BaseException) -> bool:
    """A deadlock or a serialization failure: rolled back whole, right to try again at once."""
    return _is_one_of(error, _LOST_RACE_STATES, _LOST_RACE_NUMBERS)


def is_lock_timeout(error: BaseException) -> bool:
    """Somebody held a lock for longer than one waits: nothing was done, and it may go on for a while."""
    busy = getattr(error.__cause__, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
    return busy or _is_one_of(error, _LOCK_TIMEOUT_STATES, _LOCK_TIMEOUT_NUMBERS)


def is_contention(error: BaseException) -> bool:
    """Others were in the way, whichever way: nothing was done, and nothing is wrong with what was tried."""
    return is_lost_race(error) or is_lock_timeout(error)


def _is_one_of(error: BaseException, states: frozenset[str], numbers: frozenset[int]) -> bool:
    if getattr(error.__cause__, "sqlstate", None) in states:
        return True
    return isinstance(error, DatabaseError) and bool(error.args) and error.args[0] in numbers


def is_transient(error: BaseException) -> bool:
    """The connection is gone or the server had to refuse: the same transaction can succeed on a new connection.

    A lost connection says nothing about a COMMIT that was under way: what is retried must be idempotent.
    """
    return isinstance(error, OperationalError | InterfaceError) or is_contention(error)
