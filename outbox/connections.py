"""Database connections of a long-lived process: put right between deliveries, replaced when they break."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

import structlog
from django.db import DatabaseError, InterfaceError, connections

from outbox.conflicts import is_lost_race, is_transient

log = structlog.get_logger(__name__)

LARGEST_BACKOFF_SECONDS = 30.0
_LOST_RACES_TOLERATED = 3

Landed = TypeVar("Landed")


class InsideTransaction(RuntimeError):
    """Code that may call other systems was about to run inside a database transaction."""


def assert_no_transaction() -> None:
    """Raise `InsideTransaction` if this thread has a transaction open on any database."""
    for connection in connections.all(initialized_only=True):
        # One that is closed has nothing open; to ask it for its mode would open it.
        if connection.in_atomic_block or (connection.connection is not None and not connection.get_autocommit()):
            raise InsideTransaction(f"a transaction is open on database {connection.alias!r}")


def close_unfit() -> None:
    """Close each connection of this thread that is broken, too old, or that somebody's code left in a transaction."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            connection.close()
            del connections[connection.alias]  # the wrapper still believes in its block; the next use makes a new one
        else:
            connection.close_if_unusable_or_obsolete()


def backoff_seconds(failures: int) -> float:
    """How long to wait after the n-th failure in a row: 1, 2, 4 … 30 seconds, with jitter so that workers spread."""
    ceiling = min(LARGEST_BACKOFF_SECONDS, 2.0 ** min(failures - 1, 10))
    return random.uniform(ceiling / 2, ceiling)  # noqa: S311  (no secret depends on it)


def persist(write: Callable[[], Landed], *, using: str, seconds: Callable[[], float]) -> Landed:
    """Run the transaction ``write`` until it lands, on a new connection where one broke, for at most ``seconds()``.

    ``write`` must be idempotent: when a connection breaks during COMMIT nobody knows whether it landed. A lost race is
    tried again at once, a few times. Raises what the last try raised; what can't succeed later is raised at once.
    """
    failures = 0
    while True:
        try:
            return write()
        except (DatabaseError, InterfaceError) as error:
            failures += 1
            pause = _pause_before_retry(error, failures)
            if pause is None or seconds() <= pause:
                raise
            log.warning("database_write_retried", failures=failures, error=str(error).strip())
            if not is_lost_race(error):
                connections[using].close()
            time.sleep(pause)


def _pause_before_retry(error: BaseException, failures: int) -> float | None:
    """Seconds until the next try, None where there is to be none."""
    if is_lost_race(error):
        return random.uniform(0, 0.1) if failures <= _LOST_RACES_TOLERATED else None  # noqa: S311
    if not is_transient(error):
        return None
    return 0.0 if failures == 1 else backoff_seconds(failures - 1)
