"""``python -m examples.demo [--once]``; `make demo` calls it."""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from examples.demo import schema
from examples.demo.stage import (
    MANAGE,
    ROOT,
    STATE,
    DemoFailed,
    clean,
    environment,
    heading,
    make_operator,
    manage,
    manage_json,
    require,
    say,
)
from examples.demo.worker_process import WorkerProcess

PLUGIN_FILES = [ROOT / "examples/plugins" / f"page-block-{version}.toml" for version in ("1.0.0", "1.1.0")]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="run, compensate, check, leave nothing running")
    once = parser.parse_args().once
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill ends as Ctrl-C does
    try:
        password = prepare()
        transitions = release_and_plan()
        run_once(transitions) if once else run_and_serve(transitions, password)
    except DemoFailed as error:
        print(f"\nDEMO FAILED: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say("\nstopped")
    return 0


def prepare() -> str:
    """An outbox, a target, an operator."""
    heading(f"A fresh outbox and a fresh target, two SQLite files in {STATE.name}/")
    clean()
    manage("migrate", "--verbosity", "0")
    say(manage("prepare_target").strip())
    return make_operator()


def release_and_plan() -> list[int]:
    """Releases from real migrations and from hand-written files, trusted and planned; the transitions' numbers."""
    heading("Plugin releases: Django's own auth app, written from its migrations, and page-block, written by hand")
    auth_file = STATE / "auth.json"
    manage("make_manifest", "auth", "--plugin", "auth", "--version", "5.2", "--leave-out-unwritable",
           "--output", str(auth_file))  # fmt: skip
    plans = [("auth", None, "5.2"), ("page-block", None, "1.0.0"), ("page-block", "1.0.0", "1.1.0")]
    for file in [auth_file, *PLUGIN_FILES]:
        import_and_trust(file)
    heading("Plans")
    return [plan(*wanted) for wanted in plans]


def import_and_trust(file: Path) -> None:
    imported = manage_json("import_release", str(file.relative_to(ROOT)))
    for left in imported["left_out"]:
        say(f"   left out: {left['key']}: {left['what']}")
    manage("trust_release", imported["plugin"], imported["version"])


def plan(plugin: str, old: str | None, new: str) -> int:
    planned = manage_json("plan_transition", plugin, *(["--from", old] if old else []), "--to", new)
    say(f"   transition {planned['transition']}: {planned['name']}, {len(planned['steps'])} steps")
    return int(planned["transition"])


def run_once(transitions: list[int]) -> None:
    """Everything forward, then everything back; each result checked."""
    executions = [queue("execute_transition", transition) for transition in transitions]
    heading("A worker delivers them")
    WorkerProcess("--drain").wait()
    reports = [show(execution) for execution in executions]
    for report in reports:
        require(succeeded(report), f"execution {report['execution']} SUCCEEDED, and each of its steps ran once")
    schema.require_as_migrated()
    undo(transitions)
    say("\nDEMO DONE: everything was as it must be")


def undo(transitions: list[int]) -> None:
    heading("Compensation, last transition first")
    executions = []
    for transition in reversed(transitions):
        executions.append(queue("compensate_transition", transition))
        WorkerProcess("--drain").wait()
    for report in map(show, executions):
        require(succeeded(report), f"compensation {report['execution']} SUCCEEDED")
    schema.show_receipts()
    schema.require_empty()


def queue(command: str, transition: int) -> int:
    queued = manage_json(command, str(transition))
    require(queued["command"]["status"] == "PENDING", f"execution {queued['execution']} is queued and nothing was run")
    return int(queued["execution"])


def show(execution: int) -> dict[str, Any]:
    """The execution's receipts, as a table for the reader and as data for the checks."""
    say("\n" + manage("show_execution", str(execution)).strip())
    return manage_json("show_execution", str(execution))


def succeeded(report: dict[str, Any]) -> bool:
    receipts = report["receipts"]
    once = all(receipt["status"] == "SUCCEEDED" and receipt["attempts"] == 1 for receipt in receipts)
    return report["status"] == "SUCCEEDED" and report["command"]["status"] == "DELIVERED" and once


def run_and_serve(transitions: list[int], password: str) -> None:
    """A worker and the admin, until Ctrl-C. The last transition is left for the reader to execute."""
    port = os.environ.get("PORT", "8000")
    for transition in transitions[:-1]:
        queue("execute_transition", transition)
    heading("A worker delivers them, and goes on")
    worker = WorkerProcess()
    quiet = {**environment(), "OUTBOX_LOG_LEVEL": "WARNING"}  # the window is the worker's
    command = [*MANAGE, "runserver", "--noreload", f"127.0.0.1:{port}"]
    server = subprocess.Popen(command, env=quiet, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        heading(f"The admin: http://127.0.0.1:{port}/admin/   user: operator   password: {password}")
        say("   Open Transitions, choose page-block 1.0.0 → 1.1.0, press Execute, and watch this window. Ctrl-C ends.")
        if server.wait():
            raise DemoFailed(f"the server ended with {server.returncode}; is port {port} taken? (PORT=8001 make demo)")
    finally:
        server.terminate()
        server.wait()
        worker.stop()


if __name__ == "__main__":
    sys.exit(main())
