"""Stops, disturbs or counts threads at the named points of the production path (`outbox.barriers`)."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from outbox import barriers

WAIT_SECONDS = 20

# Those of a walk, from the claim's commit to the end, in the order in which a batch first reaches them.
WALK = (
    "after_claim_commit",
    "claim_to_running",
    "before_step_mark",
    "after_step_mark_commit",
    "inside_executor",
    "after_executor_before_receipt",
    "after_receipt_commit",
    "before_command_final",
    "after_command_final",
)


@contextmanager
def hooked(hook: Callable[[str], None]) -> Iterator[None]:
    """``hook`` hears of every barrier that any thread of this process reaches."""
    assert barriers.hook is None, "one hook at a time"
    barriers.hook = hook
    try:
        yield
    finally:
        barriers.hook = None


@contextmanager
def at(barrier: str, action: Callable[[], None], *, times: int = 1) -> Iterator[list[str]]:
    """Run ``action`` the first ``times`` times that a thread is at ``barrier``; yields all barriers as reached."""
    reached: list[str] = []
    lock = threading.Lock()

    def hook(name: str) -> None:
        with lock:
            reached.append(name)
            due = name == barrier and reached.count(name) <= times
        if due:
            action()

    with hooked(hook):
        yield reached


class Gate:
    """A place where a thread waits until the test lets it go on; the test can wait until a thread is there."""

    def __init__(self) -> None:
        self._arrived = threading.Event()
        self._opened = threading.Event()

    def __call__(self, *_: object) -> None:
        self._arrived.set()
        assert self._opened.wait(WAIT_SECONDS), "nobody opened the gate"

    def wait_until_reached(self) -> None:
        assert self._arrived.wait(WAIT_SECONDS), "nobody came to the gate"

    @property
    def reached(self) -> bool:
        return self._arrived.is_set()

    def open(self) -> None:
        self._opened.set()
