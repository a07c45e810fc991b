"""``run_outbox_worker`` in this process: its options, what it refuses. Exit codes of processes: ``tests/processes``."""

import signal
import threading

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError

from outbox import claims
from outbox.worker import ExitCode, Worker
from tests import factories
from transitions.models import OutboxCommand

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def handlers_restored():
    """The command takes over the signals of its process, which here is that of the tests."""
    before = {signum: signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGINT)}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def run(*arguments: str) -> None:
    call_command("run_outbox_worker", *arguments)


def started(log_lines) -> dict:
    (line,) = [line for line in log_lines if line["event"] == "worker_started"]
    return line


def test_draining_by_command_delivers_everything(target, queued_execution, log_lines):
    run("--drain")
    queued_execution.refresh_from_db()
    assert queued_execution.status == "SUCCEEDED"
    assert [line["outcome"] for line in log_lines if line["event"] == "worker_stopped"] == ["stopped"]


def test_every_option_is_in_force_and_told(log_lines):
    options = {"--batch-size": 7, "--poll-interval": 0.5, "--lease-seconds": 30, "--concurrency": 2}
    run("--drain", "--worker-id", "w-9", *(f"{name}={value}" for name, value in options.items()))
    line = started(log_lines)
    told = ("worker", "lane", "until", "batch_size", "poll_interval_seconds", "lease_seconds", "concurrency")
    assert [line[name] for name in told] == ["w-9", "commands", "drained", 7, 0.5, 30, 2]


@pytest.mark.parametrize(("lease", "renew"), [("30", 10.0), ("600", 20.0)])
def test_renewal_follows_a_shorter_lease_and_stays_under_a_longer_one(log_lines, lease, renew):
    run("--once", "--lease-seconds", lease)
    assert started(log_lines)["renew_seconds"] == renew


def test_the_worker_that_claims_is_named_on_the_row(target, queued_execution):
    run("--drain", "--worker-id", "host-1")
    assert OutboxCommand.objects.get().lease_owner == "host-1"


def test_a_worker_that_was_given_no_name_has_one_of_its_own(log_lines):
    run("--once")
    run("--once")
    names = [line["worker"] for line in log_lines if line["event"] == "worker_started"]
    assert len(set(names)) == 2


def test_named_lanes_are_served_even_where_they_are_disabled(settings, target, queued_execution):
    settings.OUTBOX = {**settings.OUTBOX, "POLLING_ENABLED": False}
    run("--drain", "--lanes", "commands, commands")
    assert OutboxCommand.objects.get().status == "DELIVERED"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--once", "--drain"], "not allowed with"),
        (["--lanes", "commands,nobody"], "unknown 'nobody'; there are: commands"),
        (["--lanes", ""], "unknown ''"),
        (["--lease-seconds", "0.5"], "a number from 1 to 86400"),
        (["--batch-size", "2.5"], "a whole number from 1 to 1000"),
        (["--lease-seconds", "7200", "--once"], r"outbox\.E003"),
    ],
    ids=str,
)
def test_what_cannot_be_right_is_refused_with_the_rule(target, queued_execution, arguments, message):
    with pytest.raises(CommandError, match=message):
        run(*arguments)
    assert target.calls == []


def test_with_every_lane_disabled_there_is_nothing_to_serve(settings):
    settings.OUTBOX = {**settings.OUTBOX, "POLLING_ENABLED": False}
    with pytest.raises(CommandError, match="OUTBOX_POLLING_ENABLED"):
        run("--drain")


def test_a_database_that_fails_in_a_bounded_run_is_an_error(monkeypatch):
    def fail(*args, **kwargs):
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(claims, "claim", fail)
    with pytest.raises(CommandError, match="the database failed: server closed"):
        run("--drain")


@pytest.mark.parametrize("code", [ExitCode.ABANDONED, ExitCode.STOPPED])
def test_the_end_of_the_worker_is_the_exit_code_of_the_command(monkeypatch, code):
    monkeypatch.setattr(Worker, "run", lambda self: code)
    if code is ExitCode.STOPPED:
        run()
        return
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 3


def test_a_signal_asks_the_worker_to_stop(target, monkeypatch):
    asked, request_stop = threading.Event(), Worker.request_stop

    def heard(worker: Worker) -> None:
        request_stop(worker)
        asked.set()

    def signal_and_wait(request) -> None:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)
        assert asked.wait(20)

    monkeypatch.setattr(Worker, "request_stop", heard)
    target.script("step-1", signal_and_wait)
    execution = factories.queue_execution()
    run()
    execution.refresh_from_db()
    assert execution.status == "QUEUED"
    assert list(execution.receipts.values_list("status", flat=True)) == ["SUCCEEDED", "PENDING", "PENDING"]
