"""Runs the suite on SQLite, PostgreSQL and MariaDB in turn: `python -m tests.everywhere [--only NAMES] [pytest args]`.

Exits with 0 only if every database that was tested passed. A database that cannot be had is reported as not tested,
and why; with REQUIRE_DATABASES=1, or where its URL was given, it fails the run.
"""

import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.servers import NotFound, Server, Unreachable, server

DATABASES = ("sqlite", "postgresql", "mariadb")
ROOT = Path(__file__).resolve().parent.parent
INTERRUPTED = 130


@dataclass
class Outcome:
    """What one database's run came to."""

    database: str
    what: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0
    tested: bool = True

    def __str__(self) -> str:
        if not self.tested:
            return f"{self.database:<11} {self.what}"
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"{self.database:<11} {counts}, {self.seconds:.0f} s  ({self.what})"


class _Terminated(KeyboardInterrupt):
    """SIGTERM: ends the run like Ctrl-C, servers and databases included."""


def main(arguments: list[str]) -> int:
    """Tests the chosen databases one after the other, prints what came of each, returns the exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    parser = argparse.ArgumentParser(prog="python -m tests.everywhere", description=__doc__, allow_abbrev=False)
    parser.add_argument("--only", type=_names, default=DATABASES, help=f"some of {','.join(DATABASES)}")
    options, pytest_arguments = parser.parse_known_args(arguments)
    outcomes: list[Outcome] = []
    for database in options.only:
        try:
            outcomes.append(_test(database, pytest_arguments))
        except KeyboardInterrupt:
            outcomes.append(Outcome(database, "FAILED: interrupted, and with it the run", failed=1, tested=False))
            _report(outcomes)
            return INTERRUPTED
    _report(outcomes)
    return int(any(outcome.failed for outcome in outcomes))


def _test(database: str, pytest_arguments: list[str]) -> Outcome:
    """Runs the suite on one database; a failure to have that database is an outcome, too."""
    print(f"\n=== {database}", flush=True)
    try:
        with _server(database) as found:
            print(f"=== {found.version}, {found.origin}", flush=True)
            return _run_pytest(database, found, pytest_arguments)
    except Unreachable as problem:
        return Outcome(database, f"FAILED: {problem}", failed=1, tested=False)
    except NotFound as problem:
        if os.environ.get("REQUIRE_DATABASES") == "1":
            return Outcome(database, f"FAILED, it is required: {problem}", failed=1, tested=False)
        return Outcome(database, f"not tested: {problem}", tested=False)


@contextmanager
def _server(database: str) -> Iterator[Server]:
    """Yields the server to test on; for SQLite, a folder of its own."""
    if database != "sqlite":
        with server(database) as found:
            yield found
        return
    with tempfile.TemporaryDirectory(prefix="outbox-sqlite-") as folder:
        yield Server(f"sqlite:///{folder}/outbox.sqlite3", f"SQLite {sqlite3.sqlite_version}", "in a temporary folder")


def _run_pytest(database: str, found: Server, pytest_arguments: list[str]) -> Outcome:
    """Runs pytest, its output straight to ours; an exit code other than 0 is a failure whatever was counted."""
    # The target has the same URL: the settings give its test database another name.
    environment = os.environ | {"DATABASE_URL": found.url, "TARGET_DATABASE_URL": found.url}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="outbox-report-") as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *pytest_arguments]
        code = _wait_for(subprocess.Popen(command, cwd=ROOT, env=environment))
        passed, failed, skipped = _counts(report)
    if code and not failed:
        failed = 1
    return Outcome(database, found.version, passed, failed, skipped, time.monotonic() - begin)


def _wait_for(tests: "subprocess.Popen[bytes]") -> int:
    """Returns the exit code of the tests; an interrupt lets them clean up first, and then goes on to our caller."""
    try:
        return tests.wait()
    except KeyboardInterrupt as interrupt:
        # Ctrl-C reached them already, and a second one would cut their clean-up short; SIGTERM reached us alone.
        if isinstance(interrupt, _Terminated):
            tests.send_signal(signal.SIGINT)
        try:
            tests.wait(30)
        except subprocess.TimeoutExpired:
            tests.kill()
            tests.wait()
        raise


def _counts(report: Path) -> tuple[int, int, int]:
    """Returns how many tests passed, failed and were skipped; zeros where pytest did not come to write it down."""
    if not report.exists():
        return 0, 0, 0
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    total, failures, errors, skipped = (
        sum(int(suite.get(key, "0")) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
    )
    return max(total - failures - errors - skipped, 0), failures + errors, skipped


def _report(outcomes: list[Outcome]) -> None:
    """Prints a line for each database, and the total as the last line."""
    print("\n=== Summary")
    for outcome in outcomes:
        print(outcome)
    total = [sum(getattr(outcome, name) for outcome in outcomes) for name in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*total), flush=True)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if unknown := set(names) - set(DATABASES):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: choose from {', '.join(DATABASES)}")
    return names


def _terminate(*_: object) -> None:
    raise _Terminated


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
