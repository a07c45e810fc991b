"""Several workers on one queue, threads and processes: every step of every batch is run once, by one of them."""

from collections import Counter

import pytest

from outbox.worker import ExitCode
from tests import factories
from tests.factories import drain
from tests.invariants import assert_invariants
from tests.together import together
from tests.worker_process import WorkerProcess, all_running
from transitions.models import Execution, OutboxCommand

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("target")]

BATCHES, STEPS, WORKERS = 12, 2, 4


def assert_each_step_ran_once(target) -> None:
    assert set(Execution.objects.values_list("status", flat=True)) == {"SUCCEEDED"}
    assert set(OutboxCommand.objects.values_list("delivery_count", flat=True)) == {1}
    runs = Counter(call.key for call in target.calls)
    assert (len(runs), set(runs.values())) == (BATCHES * STEPS, {1})
    assert_invariants()


@pytest.mark.parametrize("skip_locked", [True, False], ids=["skip locked", "plain"])
def test_workers_in_threads_run_every_step_once(target, settings, skip_locked):
    settings.OUTBOX = {**settings.OUTBOX, "SKIP_LOCKED": skip_locked}
    for _ in range(BATCHES):
        factories.queue_execution(steps=STEPS, executor="test-naive:v1")
    workers = (
        lambda name=f"w{number}": drain(worker_id=name, concurrency=2, batch_size=3) for number in range(WORKERS)
    )
    assert together(*workers) == [ExitCode.STOPPED] * WORKERS
    assert_each_step_ran_once(target)


@pytest.mark.parametrize("skip_locked", ["true", "false"], ids=["skip locked", "plain"])
def test_workers_in_processes_run_every_step_once(target, skip_locked):
    for _ in range(BATCHES):
        factories.queue_execution(steps=STEPS, executor="test-naive:v1")
    terms = {"OUTBOX_SKIP_LOCKED": skip_locked, "OUTBOX_LEASE_SECONDS": 60}
    workers = [WorkerProcess("--drain", "--batch-size", "3", name=f"w{number}", **terms) for number in range(3)]
    with all_running(workers):
        assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert not [line for worker in workers for line in worker.log("lease_lost")]
    assert_each_step_ran_once(target)
