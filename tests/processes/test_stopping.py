"""How a worker process ends, and with which code."""

import signal

import pytest

from tests import factories
from tests.invariants import assert_invariants
from tests.waiting import wait_until
from tests.worker_process import WorkerProcess, all_running, running
from transitions.models import OutboxCommand

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("target")]


def in_step(target, step: str) -> bool:
    return any(call.step == step for call in target.calls)


def ended() -> bool:
    return not OutboxCommand.objects.filter(status__in=["PENDING", "PROCESSING"]).exists()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_worker_stops_at_once_with_code_0(signum):
    with running() as worker:
        wait_until(lambda: _has_polled(worker))
        worker.send(signum)
        assert worker.wait() == 0
    assert [line["outcome"] for line in worker.log("worker_stopped")] == ["stopped"]


def _has_polled(worker: WorkerProcess) -> bool:
    """It takes a batch, so it is up: signals have their handlers."""
    if not OutboxCommand.objects.exists():
        factories.queue_execution(executor="dry-run:v1")
    return ended()


def test_a_second_signal_ends_the_process_at_once_with_code_4(target, queued_execution):
    target.script("step-1", ("sleep", 30), ("succeed",))
    with running(name="a") as a:
        wait_until(lambda: in_step(target, "step-1"))
        a.send(signal.SIGTERM)
        a.send(signal.SIGINT)
        assert a.wait() == 4
    with running(name="b"):
        wait_until(ended)
    assert OutboxCommand.objects.get().status == "DELIVERED"
    assert_invariants()


def test_a_step_that_outlasts_the_grace_is_left_to_the_end_of_its_lease_with_code_3(target, queued_execution):
    target.script("step-1", ("sleep", 30), ("succeed",))
    with running(name="a", OUTBOX_SHUTDOWN_SECONDS=0.3) as a:
        wait_until(lambda: in_step(target, "step-1"))
        a.send(signal.SIGTERM)
        assert a.wait() == 3
    assert [line["outcome"] for line in a.log("worker_stopped")] == ["abandoned"]
    with running(name="b"):
        wait_until(ended)
    assert OutboxCommand.objects.get().delivery_count == 2
    assert_invariants()


def test_what_is_claimed_and_not_started_is_handed_back_at_a_stop(target):
    target.script("step-1", ("sleep", 1))
    for _ in range(3):
        factories.queue_execution(steps=1)
    with running("--batch-size", "3") as worker:
        wait_until(lambda: in_step(target, "step-1"))
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0
    assert len(worker.log("lease_handed_back")) == 2
    assert sorted(OutboxCommand.objects.values_list("status", "delivery_count")) == [
        ("DELIVERED", 1),
        ("PENDING", 0),
        ("PENDING", 0),
    ]
    assert_invariants()


def test_once_delivers_one_claim_and_ends(target):
    for _ in range(3):
        factories.queue_execution(steps=1)
    worker = WorkerProcess("--once", "--batch-size", "2")
    with all_running([worker]):
        assert worker.wait() == 0
    assert OutboxCommand.objects.filter(status="DELIVERED").count() == 2


def test_drain_delivers_all_that_is_claimable_and_ends(target):
    for _ in range(3):
        factories.queue_execution(steps=1)
    worker = WorkerProcess("--drain", "--concurrency", "2")
    with all_running([worker]):
        assert worker.wait() == 0
    assert OutboxCommand.objects.filter(status="DELIVERED").count() == 3


@pytest.mark.parametrize(
    ("options", "env", "code"),
    [
        (["--lanes", "nobody"], {}, 1),
        (["--batch-size", "0"], {}, 2),
        (["--lease-seconds", "soon"], {}, 2),
        ([], {"OUTBOX_LEASE_SECONDS": "soon"}, 1),
        ([], {"OUTBOX_RENEW_SECONDS": 2}, 1),
        ([], {"OUTBOX_POLLING_ENABLED": "false"}, 1),
        ([], {"OUTBOX_EXECUTOR_CODE": "nobody:v1"}, 1),
    ],
    ids=str,
)
def test_a_worker_that_cannot_be_right_does_not_start(options, env, code):
    worker = WorkerProcess(*options, **env)
    with all_running([worker]):
        assert worker.wait() == code
    assert worker.log("worker_started") == []
