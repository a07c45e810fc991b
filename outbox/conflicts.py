"""Which database errors mean "somebody else was first" and which mean "the connection is gone"."""

from django.db import DatabaseError, InterfaceError, OperationalError

# PostgreSQL: serialization_failure, deadlock_detected. MySQL and MariaDB: lock wait time-out, deadlock, and
# "record has changed since last read" (snapshot isolation).
_LOST_RACE_STATES = frozenset({"40001", "40P01"})
_LOST_RACE_NUMBERS = frozenset({1020, 1205, 1213})


def is_lost_race(error: BaseException) -> bool:
    """A deadlock, a serialization failure or a lock time-out: rolled back whole, right to try again."""
    cause = error.__cause__
    if getattr(cause, "sqlstate", None) in _LOST_RACE_STATES:
        return True
    if isinstance(error, DatabaseError) and error.args and error.args[0] in _LOST_RACE_NUMBERS:
        return True
    return getattr(cause, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def is_transient(error: BaseException) -> bool:
    """The connection is gone or the server had to refuse: the same transaction can succeed on a new connection.

    A lost connection says nothing about a COMMIT that was under way: what is retried must be idempotent.
    """
    return isinstance(error, OperationalError | InterfaceError) or is_lost_race(error)
