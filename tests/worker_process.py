"""Real worker processes on the test database, and what a test does to them."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connections

from tests.waiting import wait_until
from tests.worker_kit.disturbances import BARRIER, NO_KEEPER, SKEW

ROOT = Path(__file__).resolve().parent.parent
LEASE_SECONDS = 2.0
POLL_SECONDS = 0.1
DEADLINE_SECONDS = 60


def environment(**changes: object) -> dict[str, str]:
    """That of the test run, which names the folder of the fake target, with the names of the test databases."""
    names = {f"OUTBOX_TEST_NAME_{alias}": str(connections[alias].settings_dict["NAME"]) for alias in connections}
    options = {
        "OUTBOX_LEASE_SECONDS": LEASE_SECONDS,
        "OUTBOX_POLL_INTERVAL_SECONDS": POLL_SECONDS,
        "OUTBOX_BATCH_SIZE": 1,
        "OUTBOX_SHUTDOWN_SECONDS": 20,
        "OUTBOX_LOG_FORMAT": "json",
        "DJANGO_SETTINGS_MODULE": "tests.worker_settings",
    }
    return {**os.environ, **names, **{name: str(value) for name, value in {**options, **changes}.items()}}


class WorkerProcess:
    """``manage.py run_outbox_worker`` with options, in an environment."""

    def __init__(
        self,
        *options: str,
        name: str = "a",
        at: tuple[str, int, str] | None = None,
        keeper: bool = True,
        skew: float = 0,
        **env: object,
    ) -> None:
        disturbed: dict[str, object] = dict(env)
        if at is not None:
            disturbed[BARRIER] = " ".join(map(str, at))
        if not keeper:
            disturbed[NO_KEEPER] = 1
        if skew:
            disturbed[SKEW] = skew
        self.name = name
        command = [sys.executable, str(ROOT / "manage.py"), "run_outbox_worker", "--worker-id", name, *options]
        self.process = subprocess.Popen(
            command, env=environment(**disturbed), cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, signum: int) -> None:
        self.process.send_signal(signum)

    def wait(self) -> int:
        """The exit code; negative for a signal."""
        code = self.process.wait(timeout=DEADLINE_SECONDS)
        self._reader.join(DEADLINE_SECONDS)
        return code

    def wait_until_started(self) -> None:
        wait_until(lambda: self.log("worker_started"), f"{self.name} starts")

    def stop(self) -> int:
        if self.process.poll() is None:
            self.send(signal.SIGTERM)
        return self.wait()

    def wait_until_stopped(self) -> None:
        """Until it has stopped itself with SIGSTOP."""
        wait_until(lambda: _state(self.pid) == "T", f"{self.name} stops itself")

    def log(self, event: str | None = None) -> list[dict[str, Any]]:
        """Its log lines so far."""
        lines = [json.loads(line) for line in list(self._lines) if line.startswith("{")]
        return [line for line in lines if event in (None, line["event"])]

    def _read(self) -> None:
        with self.process.stderr as stream:  # type: ignore[union-attr]  # a pipe, as asked for
            self._lines.extend(stream)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@contextmanager
def running(*options: str, **told: Any) -> Iterator[WorkerProcess]:
    """A worker that is stopped in order, or killed, when the block ends."""
    worker = WorkerProcess(*options, **told)
    try:
        yield worker
        worker.stop()
    finally:
        kill(worker)


def kill(worker: WorkerProcess) -> None:
    if worker.process.poll() is None:
        worker.process.kill()
        worker.wait()


@contextmanager
def all_running(workers: list[WorkerProcess]) -> Iterator[list[WorkerProcess]]:
    """Workers of which none outlives the block."""
    try:
        yield workers
    finally:
        for worker in workers:
            kill(worker)
