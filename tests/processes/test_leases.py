"""Workers that outlive, lose or are robbed of nothing: leases between real processes."""

import signal
import time
from itertools import pairwise

import pytest

from outbox.clock import moment_after
from tests import factories
from tests.barriers import WALK
from tests.factories import StepFactory
from tests.invariants import assert_invariants
from tests.waiting import wait_until
from tests.worker_process import LEASE_SECONDS, POLL_SECONDS, WorkerProcess, all_running, running
from transitions.models import Execution, OutboxCommand

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("target")]

BEFORE_THE_END = WALK[:-1]


def rows() -> list[dict]:
    return list(OutboxCommand.objects.order_by("pk").values())


def ended() -> bool:
    return not OutboxCommand.objects.filter(status__in=["PENDING", "PROCESSING"]).exists()


def owner() -> str:
    return OutboxCommand.objects.get().lease_owner


def runs(target, step: str) -> int:
    return sum(call.step == step for call in target.calls)


@pytest.mark.parametrize(
    ("late", "ends"),
    [(("sleep", 4.5), "DELIVERED"), (("sleep_then_fail", 4.5), "DELIVERED"), (("sleep_then_fail", 4.5), "FAILED")],
    ids=["a: a late receipt", "b: a late failure", "c: a late failure after a failure"],
)
def test_rb_01_a_worker_that_outlives_its_lease_writes_nothing(target, queued_execution, late, ends):
    """RB-01: A has no keeper and is held in step 2; B takes over, and C finds nothing to claim."""
    b_does = ("sleep", 4) if ends == "DELIVERED" else ("permanent", "no")
    target.script("step-2", late, b_does)
    a = WorkerProcess("--once", name="a", keeper=False)
    with all_running([a]):
        wait_until(lambda: runs(target, "step-2") == 1, "A is in step 2")
        with running(name="b") as b:
            wait_until(lambda: owner() == "b", "B owns the row")
            with running(name="c") as c:
                assert a.wait() == 0
                if ends == "DELIVERED":
                    assert OutboxCommand.objects.get().status == "PROCESSING"
                wait_until(ended)
    assert [line["event"] for line in a.log() if line["event"] in ("lease_lost", "delivered")] == ["lease_lost"]
    assert "OutboxCommand" in a.log("lease_lost")[0]["lease"]
    assert c.log("claimed") == []
    assert b.log("delivered")[0]["delivery"] == 2
    command = OutboxCommand.objects.get()
    assert (command.status, command.delivery_count, command.lease_owner) == (ends, 2, "b")
    assert (runs(target, "step-1"), runs(target, "step-2")) == (1, 2)
    assert len(set(target.effects)) == len(target.effects)
    assert_invariants()


def test_rb_02_a_worker_that_wakes_up_after_its_lease_writes_nothing(target):
    """RB-02: stopped at every barrier until another worker has finished its batch, then woken."""
    executions = [factories.queue_execution() for _ in BEFORE_THE_END]
    # A lease so long that each, slow as its start may be, finds a batch that no other zombie had.
    told = {"OUTBOX_LEASE_SECONDS": 60}
    zombies = [WorkerProcess("--once", name=f"zombie-{p}", at=(p, 1, "stop"), **told) for p in BEFORE_THE_END]
    with all_running(zombies):
        for zombie in zombies:
            zombie.wait_until_stopped()
        for execution in executions:
            factories.let_lease_end(execution)
        with running(name="b"):
            wait_until(ended)
        before = rows(), list(Execution.objects.order_by("pk").values())
        assert {row["lease_owner"] for row in before[0]} == {"b"}
        for zombie in zombies:
            zombie.send(signal.SIGCONT)
        assert [zombie.wait() for zombie in zombies] == [0] * len(zombies)
    assert (rows(), list(Execution.objects.order_by("pk").values())) == before
    assert [len(zombie.log("lease_lost")) for zombie in zombies] == [1] * len(zombies)
    assert sorted(target.effects) == sorted(set(target.effects))
    assert_invariants()


def test_rb_02_while_the_new_owner_works_its_lease_is_neither_shortened_nor_cleared(target, queued_execution):
    target.script("step-2", ("sleep", 3))
    a = WorkerProcess("--once", name="a", at=("after_receipt_commit", 1, "stop"))
    with all_running([a]):
        a.wait_until_stopped()
        with running(name="b") as _b:
            try:
                wait_until(lambda: owner() == "b" and runs(target, "step-2") == 1, "B is in step 2")
            except AssertionError:
                print(rows(), target.calls, _b.process.poll())
                _b.stop()
                print(_b._lines)
                raise
            before = OutboxCommand.objects.get()
            a.send(signal.SIGCONT)
            assert a.wait() == 0
            after = OutboxCommand.objects.get()
            assert after.lease_token == before.lease_token
            assert after.lease_until >= before.lease_until
            wait_until(ended)
    assert runs(target, "step-2") == 1
    assert_invariants()


def test_rb_04_a_step_of_three_leases_is_renewed_and_run_once(target, queued_execution):
    """RB-04: with an idle second worker polling all the while."""
    target.script("step-2", ("sleep", 3 * LEASE_SECONDS))
    ends = set()
    with running(name="a"):
        wait_until(lambda: runs(target, "step-2") == 1)
        with running(name="b") as b:
            while not ended():
                ends.add(OutboxCommand.objects.get().lease_until)
                time.sleep(POLL_SECONDS)
    assert b.log("claimed") == []
    command = OutboxCommand.objects.get()
    assert (command.status, command.delivery_count, command.lease_owner) == ("DELIVERED", 1, "a")
    renewed = sorted(end for end in ends if end is not None)
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(renewed)]
    # Half a lease, not a third: the machine that runs the tests may be slow, and two thirds would still be safe.
    assert max(gaps) < LEASE_SECONDS / 2
    assert_invariants()


@pytest.mark.parametrize("point", ["after_claim_commit", "claim_to_running", "inside_executor"])
def test_rb_06_a_killed_workers_row_is_owned_again_within_a_lease_and_a_poll(target, queued_execution, point):
    """RB-06: another worker is polling already."""
    a = WorkerProcess(name="a", at=(point, 1, "kill"))
    with all_running([a]):
        wait_until(lambda: owner() == "a", "A owns the row")
        with running(name="b"):
            assert a.wait() == -9
            died = time.monotonic()
            wait_until(lambda: owner() == "b", "B owns the row")
            # A second for the test itself and a second more for a machine that is busy.
            assert time.monotonic() - died < LEASE_SECONDS + POLL_SECONDS + 2
            wait_until(ended)
    assert OutboxCommand.objects.get().status == "DELIVERED"
    assert_invariants()


def test_rb_07_a_batch_that_kills_its_workers_is_taken_out_and_the_others_are_delivered(target):
    """RB-07: the executor ends the process each time, a supervisor starts a new one; healthy batches stand behind."""
    poison = factories.queue_execution(steps=1)
    target.script("step-1", ("die",))
    target.script("healthy", ("succeed",))
    for _ in range(20):
        factories.queue_execution(contributions=[StepFactory(key="healthy")])
    limits = {"OUTBOX_MAX_DELIVERIES": 3, "OUTBOX_LEASE_SECONDS": 1, "OUTBOX_BATCH_SIZE": 5}
    codes = []
    while not ended():
        worker = WorkerProcess(name="supervised", **limits)
        with all_running([worker]):
            wait_until(lambda process=worker.process: ended() or process.poll() is not None)
            codes.append(worker.stop())
    assert codes == [137, 137, 137, 0]
    poison.refresh_from_db()
    receipt = poison.receipts.get()
    assert (poison.status, receipt.error_code, receipt.outcome_unknown) == ("FAILED", "delivery_limit", True)
    assert poison.command.delivery_count == 3
    assert runs(target, "step-1") == 3
    assert OutboxCommand.objects.filter(status="DELIVERED").count() == 20
    assert runs(target, "healthy") == 20
    assert_invariants(max_deliveries=3)


def test_rb_08_a_stopping_worker_renews_until_its_step_ends_and_hands_the_rest_back(target, queued_execution):
    """RB-08: SIGTERM in the middle of a step of three leases."""
    target.script("step-2", ("sleep", 3 * LEASE_SECONDS))
    with running(name="a") as a:
        wait_until(lambda: runs(target, "step-2") == 1)
        with running(name="b") as b:
            a.send(signal.SIGTERM)
            assert a.wait() == 0
            left = time.monotonic()
            wait_until(lambda: owner() == "b", "B has the rest")
            assert time.monotonic() - left < POLL_SECONDS + 1
            wait_until(ended)
    assert [line["outcome"] for line in a.log("delivered")] == ["handed_back"]
    assert len(b.log("claimed")) == 1
    assert [runs(target, f"step-{number}") for number in (1, 2, 3)] == [1, 1, 1]
    command = OutboxCommand.objects.get()
    assert (command.status, command.delivery_count) == ("DELIVERED", 1)
    assert_invariants()


def test_rb_10_workers_with_wrong_clocks_neither_steal_nor_starve(target):
    """RB-10: one right, one ten minutes ahead, one ten minutes behind."""
    target.script("step-1", ("sleep", 0.2))
    workers = [WorkerProcess(name=name, skew=skew) for name, skew in (("true", 0), ("fast", 600), ("slow", -600))]
    with all_running(workers):
        for worker in workers:
            worker.wait_until_started()
        later = factories.queue_execution(steps=1)
        OutboxCommand.objects.filter(execution=later).update(available_at=moment_after(4))
        for _ in range(15):
            factories.queue_execution(steps=1)
        wait_until(ended)
        assert [worker.stop() for worker in workers] == [0, 0, 0]
    assert set(OutboxCommand.objects.values_list("delivery_count", "status")) == {(1, "DELIVERED")}
    assert len(target.calls) == 16
    command = OutboxCommand.objects.get(execution=later)
    waited = (command.finished_at - command.available_at).total_seconds()
    # The step itself takes a fifth of a second; the rest is for a machine that is busy.
    assert 0 <= waited < POLL_SECONDS + 3
    assert all(worker.log("delivered") for worker in workers)
    assert_invariants()
