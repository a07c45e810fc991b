"""SIGKILL of the real worker at every boundary of the walk: the batch ends right, whoever dies where."""

from dataclasses import dataclass

import pytest

from tests import factories
from tests.invariants import assert_invariants
from tests.waiting import wait_until
from tests.worker_process import WorkerProcess, all_running, running
from transitions.models import Execution, OutboxCommand, StepReceipt

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("target")]

ONCE_A_BATCH = ["after_poll", "after_claim_commit", "claim_to_running", "before_command_final", "after_command_final"]
ONCE_A_STEP = [
    "before_step_mark",
    "after_step_mark_commit",
    "inside_executor",
    "after_executor_before_receipt",
    "after_receipt_commit",
]
EVERY_POINT = [(name, 1) for name in ONCE_A_BATCH] + [(name, step) for name in ONCE_A_STEP for step in (1, 2, 3)]


@dataclass
class Crash:
    """What was committed, and called, when every worker had died."""

    succeeded: set[str]
    called: dict[str, int]


def active() -> bool:
    return OutboxCommand.objects.filter(status__in=["PENDING", "PROCESSING"]).exists()


def crash_everywhere(target) -> Crash:
    """One worker a point, all at once; each claims one batch and dies there."""
    with all_running([WorkerProcess(name=f"{n}-{hit}", at=(n, hit, "kill")) for n, hit in EVERY_POINT]) as workers:
        assert [worker.wait() for worker in workers] == [-9] * len(workers)
    succeeded = StepReceipt.objects.filter(status="SUCCEEDED")
    return Crash(set(succeeded.values_list("idempotency_key", flat=True)), count(target))


def count(target) -> dict[str, int]:
    calls: dict[str, int] = {}
    for call in target.calls:
        calls[call.key] = calls.get(call.key, 0) + 1
    return calls


def assert_ended_right(target, crash: Crash, executions: list[Execution]) -> None:
    statuses = {tuple(pair) for pair in Execution.objects.values_list("status", "command__status")}
    assert statuses == {("SUCCEEDED", "DELIVERED")}
    keys = set(StepReceipt.objects.filter(execution__in=executions).values_list("idempotency_key", flat=True))
    after = count(target)
    assert all(after[key] == crash.called[key] for key in crash.succeeded & crash.called.keys()), "called again"
    assert all(after[key] <= crash.called.get(key, 0) + 1 for key in keys), "called more than once more"
    assert sorted(target.effects) == sorted(set(target.effects)), "an effect happened twice"
    assert keys <= set(target.effects)
    assert_invariants()


def recover() -> None:
    with running("--concurrency", "4", name="rescuer"):
        wait_until(lambda: not active(), "every batch ends")


def test_a_worker_killed_at_any_point_costs_a_redelivery_and_nothing_else(target):
    executions = [factories.queue_execution() for _ in EVERY_POINT]
    crash = crash_everywhere(target)
    recover()
    assert_ended_right(target, crash, executions)


def test_a_worker_killed_at_any_point_of_a_compensation_costs_a_redelivery_and_nothing_else(target):
    done = [factories.queue_execution() for _ in EVERY_POINT]
    factories.drain(concurrency=4)
    undo = [factories.compensate(execution.transition) for execution in done]
    crash = crash_everywhere(target)
    recover()
    assert_ended_right(target, crash, undo)
    undone = [call.step for call in target.calls if call.key in keys_of(undo[0])]
    assert list(dict.fromkeys(undone)) == ["step-3", "step-2", "step-1"]


def keys_of(execution: Execution) -> set[str]:
    return set(execution.receipts.values_list("idempotency_key", flat=True))


@pytest.mark.parametrize("after_step", [1, 2, 3, 4, 5])
def test_rb_51_a_worker_killed_between_two_steps_leaves_nothing_stuck(target, after_step):
    """RB-51: right after a receipt committed and before the next step is marked, or before the final state."""
    executions = [factories.queue_execution(steps=5) for _ in range(3)]
    worker = WorkerProcess(at=("after_receipt_commit", after_step, "kill"))
    assert worker.wait() == -9
    recover()
    assert set(count(target).values()) == {1}
    assert len(target.effects) == 5 * len(executions)
    assert_invariants()


def test_an_operator_killed_in_the_middle_of_a_reconciliation_changed_nothing(target, expired_execution):
    import subprocess
    import sys

    from tests.worker_kit.disturbances import BARRIER
    from tests.worker_process import ROOT, environment

    before = OutboxCommand.objects.values().get(), list(StepReceipt.objects.values())
    command = [sys.executable, str(ROOT / "manage.py"), "reconcile_execution", str(expired_execution.pk)]
    killed = environment(**{BARRIER: "during_reconcile 1 kill"})
    assert subprocess.run(command, env=killed, check=False, capture_output=True).returncode == -9
    assert (OutboxCommand.objects.values().get(), list(StepReceipt.objects.values())) == before
    recover()
    assert_invariants()
