"""A fixed number of threads that deliver leases, each with a database connection of its own."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

from django.db import connections

from outbox.held import HeldLease


class Slots:
    """``count`` daemon threads. A call that hangs keeps its own slot and no other."""

    def __init__(
        self, count: int, *, name: str, deliver: Callable[[HeldLease], None], freed: Callable[[], None]
    ) -> None:
        self._deliver = deliver
        self._freed = freed
        self._queue: SimpleQueue[HeldLease | None] = SimpleQueue()
        self._busy = 0
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, name=f"outbox-{name}-{number}", daemon=True) for number in range(count)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def busy(self) -> int:
        return self._busy

    @property
    def free(self) -> int:
        return len(self._threads) - self._busy

    def submit(self, held: HeldLease) -> None:
        """Start a delivery; the caller has seen that a slot is free."""
        with self._lock:
            self._busy += 1
        self._queue.put(held)

    def end(self) -> None:
        """Let every idle thread close its connection and go; wait for them. Busy ones are left to the process."""
        idle = self.free == len(self._threads)
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads if idle else []:
            thread.join()

    def _run(self) -> None:
        while (held := self._queue.get()) is not None:
            try:
                self._deliver(held)
            finally:
                with self._lock:
                    self._busy -= 1
                self._freed()
        connections.close_all()
