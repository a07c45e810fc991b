"""A real worker process whose log lines are told as they come."""

import json
import signal
import subprocess
import threading
from typing import Any

from examples.demo.stage import MANAGE, ROOT, DemoFailed, environment, say


class WorkerProcess:
    """``manage.py run_outbox_worker`` with the options given."""

    def __init__(self, *options: str) -> None:
        say(f"$ manage.py run_outbox_worker {' '.join(options)}")
        # A session of its own: Ctrl-C reaches the demo alone, which then stops the worker with one signal, not two.
        self._process = subprocess.Popen(
            [*MANAGE, "run_outbox_worker", *options],
            env=environment(),
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._teller = threading.Thread(target=self._tell_all, daemon=True)
        self._teller.start()

    def wait(self) -> None:
        """Until it ends by itself. Raises `DemoFailed` unless it ended well."""
        code = self._process.wait()
        self._teller.join()
        if code:
            raise DemoFailed(f"the worker ended with {code}")

    def stop(self) -> None:
        """Ask it to stop, as a process manager would."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        self.wait()

    def _tell_all(self) -> None:
        for line in self._process.stderr or ():
            if told := tell(line.strip()):
                say(f"   {told}")


_TOLD = {
    "worker_started": "worker {worker} serves lane {lane} with a lease of {lease_seconds:g} s",
    "claimed": "claimed {count} of lane {lane}: {leases}",
    "step": "execution {execution}: {direction} {step:<50} {outcome:.45}",
    "delivered": "{lease}: {outcome} after {seconds:g} s (delivery {delivery})",
    "worker_stopped": "worker {worker} stopped",
}


def tell(line: str) -> str:
    """A log line for a person."""
    try:
        event: dict[str, Any] = json.loads(line)
    except ValueError:
        return line
    told = _TOLD.get(event.get("event", ""))
    return told.format(**event) if told else line
