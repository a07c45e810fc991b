"""The worker: serves lanes until it is stopped, drained, or has claimed once. It knows lanes, not their work."""

import time
from collections.abc import Iterable
from contextlib import suppress
from enum import IntEnum
from functools import partial
from queue import Empty, SimpleQueue

import structlog
from django.db import connections

from outbox.held import StopRequest
from outbox.keeper import Keeper
from outbox.lane_runner import LaneRunner, Until
from outbox.lanes import Lane, LaneOptions

log = structlog.get_logger(__name__)


class ExitCode(IntEnum):
    """How a worker process ends."""

    STOPPED = 0  # stopped or drained, everything recorded or handed back
    REFUSED = 1  # did not start: configuration, or the database at a bounded run
    ABANDONED = 3  # the grace period ended with a step still running: its lease will expire
    FORCED = 4  # a second signal: left at once


class Worker:
    """Serves lanes side by side in one process; not to be run twice."""

    def __init__(
        self,
        lanes: Iterable[tuple[Lane, LaneOptions]],
        *,
        worker_id: str,
        shutdown_seconds: float,
        until: Until = Until.STOPPED,
    ) -> None:
        self._worker_id = worker_id
        self._shutdown_seconds = shutdown_seconds
        self._stop = StopRequest()
        self._wakes: SimpleQueue[None] = SimpleQueue()
        lanes = list(lanes)
        self._keeper = Keeper(min(options.renew_seconds for _, options in lanes))
        runner = partial(
            LaneRunner, owner=worker_id, until=until, stop=self._stop, keeper=self._keeper, wake=self._wake
        )
        self._runners = [runner(lane, options) for lane, options in lanes]

    def request_stop(self) -> None:
        """Claim no more, finish the step under way, hand back the rest. Safe in a signal handler and in any thread."""
        self._stop.requested = True
        self._wake()

    def run(self) -> ExitCode:
        """Work until the end that was asked for. Raises database errors only in a bounded run."""
        self._keeper.start()
        for runner in self._runners:
            runner.start()
        try:
            while not self._stop.requested:
                pause = min(runner.turn() for runner in self._runners)
                if self._all_done():
                    break
                self._sleep(pause)
        finally:
            code = self._shut_down()
        return code

    def _all_done(self) -> bool:
        return all(runner.finished and runner.idle for runner in self._runners)

    def _shut_down(self) -> ExitCode:
        grace_ends_at = time.monotonic() + self._shutdown_seconds
        for runner in self._runners:
            runner.hand_back("worker stops")
        while self._busy() and time.monotonic() < grace_ends_at:
            self._sleep(grace_ends_at - time.monotonic())
        code = ExitCode.ABANDONED if self._busy() else ExitCode.STOPPED
        for runner in self._runners:
            runner.end()
        self._keeper.end()
        connections.close_all()
        log.info("worker_stopped", worker=self._worker_id, outcome=code.name.lower(), still_running=self._busy())
        return code

    def _busy(self) -> int:
        return sum(runner.busy for runner in self._runners)

    def _wake(self) -> None:
        # A SimpleQueue, since its put is reentrant: a signal handler may interrupt the very wait that it ends.
        self._wakes.put(None)

    def _sleep(self, seconds: float) -> None:
        with suppress(Empty):
            self._wakes.get(timeout=max(seconds, 0.001))
