"""Disturbances of one process, asked for by its environment: a barrier with an action, no keeper, a wrong clock."""

import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from django.utils import timezone

from outbox import barriers
from outbox.keeper import Keeper

BARRIER, NO_KEEPER, SKEW = "OUTBOX_TEST_BARRIER", "OUTBOX_TEST_NO_KEEPER", "OUTBOX_TEST_SKEW"


def install() -> None:
    if told := os.environ.get(BARRIER):
        name, hit, action = told.split(" ", 2)
        barriers.hook = _at(name, int(hit), _action(action))
    if os.environ.get(NO_KEEPER):
        Keeper._renew_all = lambda self: None  # type: ignore[method-assign]
    if skew := os.environ.get(SKEW):
        _put_clock_wrong(float(skew))


def _at(barrier: str, hit: int, action: Callable[[], None]) -> Callable[[str], None]:
    """Act at the ``hit``-th time that a thread is at the barrier."""
    hits = 0

    def hook(name: str) -> None:
        nonlocal hits
        hits += name == barrier
        if name == barrier and hits == hit:
            action()

    return hook


def _action(told: str) -> Callable[[], None]:
    match told.split(" "):
        case ["kill"]:
            return partial(_send, signal.SIGKILL)
        case ["stop"]:
            return partial(_send, signal.SIGSTOP)
        case ["wait", folder]:
            return lambda: _wait(Path(folder))
    raise ValueError(told)


def _send(signum: int) -> None:
    os.kill(os.getpid(), signum)
    # The kernel may let this thread run on for a moment: it has to be here, and not in its next transaction, by then.
    time.sleep(0.2)


def _wait(folder: Path) -> None:
    """Say that we are here, and stay until the test says go."""
    (folder / "here").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)


def _put_clock_wrong(seconds: float) -> None:
    """Every clock of this process that Python code can ask, but the monotonic one."""
    right_time, right_now = time.time, timezone.now
    time.time = lambda: right_time() + seconds  # type: ignore[assignment]
    timezone.now = lambda: right_now() + timedelta(seconds=seconds)  # type: ignore[assignment]
