"""Waiting for a fact instead of sleeping."""

import time
from collections.abc import Callable

WAIT_SECONDS = 40


def wait_until(fact: Callable[[], object], what: str = "") -> None:
    """Return as soon as ``fact()`` is true; fail after `WAIT_SECONDS`."""
    ends_at = time.monotonic() + WAIT_SECONDS
    while not fact():
        assert time.monotonic() < ends_at, f"never came true: {what or fact}"
        time.sleep(0.005)
