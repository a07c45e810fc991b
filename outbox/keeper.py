"""The keeper renews the leases of a worker from a thread and a connection of its own."""

import threading
import time
from collections.abc import Iterable

import structlog
from django.db import DatabaseError, InterfaceError, connections

from outbox.claims import renew
from outbox.held import HeldLease
from outbox.leases import LeaseLost

log = structlog.get_logger(__name__)


class Keeper:
    """Renews every kept lease within each of its renewal intervals, however long its step or consumer runs."""

    def __init__(self, shortest_renew_seconds: float) -> None:
        self._pause = shortest_renew_seconds / 2
        self._kept: set[HeldLease] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="outbox-keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Renew no more, and wait until the connection is closed."""
        self._ended.set()
        self._thread.join()

    def keep(self, held: Iterable[HeldLease]) -> None:
        with self._lock:
            self._kept.update(held)

    def drop(self, held: HeldLease) -> None:
        with self._lock:
            self._kept.discard(held)

    def _run(self) -> None:
        while not self._ended.wait(self._pause):
            self._renew_all()
        connections.close_all()

    def _renew_all(self) -> None:
        with self._lock:
            kept = list(self._kept)
        for held in kept:
            if held.renewal_due and not self._renew(held):
                return  # no connection: the others would fail as well, and each has a third of its lease to wait

    def _renew(self, held: HeldLease) -> bool:
        """Renew one lease; False if the database could not be asked."""
        sent_at = time.monotonic()
        try:
            renew(held.lease, lease_seconds=held.lease_seconds)
            held.renewed(sent_at)
        except LeaseLost:
            # Not logged here: the delivery may have settled the row a moment ago. If not, it logs the loss itself.
            held.lose()
            self.drop(held)
        except (DatabaseError, InterfaceError) as error:
            log.warning("renewal_failed", lease=str(held.lease), seconds_sure=held.seconds_sure, error=str(error))
            connections[held.lease.using].close()
            return False
        return True
