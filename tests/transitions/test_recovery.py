"""Redelivery: what a worker does with the batch of one that died, and how a step may end."""

import pytest

from outbox.connections import InsideTransaction
from tests import factories
from tests.dying import die_in_step
from tests.factories import drain, let_lease_end, retry
from transitions.executors.base import Permanent, get_executor
from transitions.models import Execution, OutboxCommand, PluginRelease, Transition

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("checked")]


def ended(execution: Execution) -> tuple[str, str]:
    execution.refresh_from_db()
    return execution.status, OutboxCommand.objects.get(execution=execution).status


def receipts(execution: Execution) -> list[tuple[str, str]]:
    return list(execution.receipts.order_by("position").values_list("status", "error_code"))


def calls(target, what: str = "run") -> list[tuple[str, str]]:
    return [(call.step, call.previous) for call in target.calls if call.what == what]


@pytest.fixture
def died(target):
    """A batch whose worker died inside step 2, the effect of which is there if asked for."""

    def die(executor: str, *, happened: bool = False) -> Execution:
        execution = factories.queue_execution(executor=executor)
        die_in_step(execution, position=2)
        if happened:
            target.write(event="effect", key=execution.receipts.get(position=2).idempotency_key)
        let_lease_end(execution)
        drain()
        return execution

    return die


def test_steps_that_succeeded_are_skipped_and_the_ambiguous_one_runs_with_the_same_key(target, died):
    execution = died("test-keyed:v1")
    assert ended(execution) == ("SUCCEEDED", "DELIVERED")
    assert calls(target) == [("step-2", "unknown"), ("step-3", "none")]
    assert target.calls[0].key == execution.receipts.get(position=2).idempotency_key


def test_a_keyed_target_takes_the_same_key_twice_as_one_effect(target, died):
    died("test-keyed:v1", happened=True)
    assert len(target.effects) == len(set(target.effects)) == 2


def test_a_probed_receipt_is_adopted_without_a_second_run(target, died):
    execution = died("test-probe:v1", happened=True)
    assert ended(execution) == ("SUCCEEDED", "DELIVERED")
    assert calls(target) == [("step-3", "none")]
    assert calls(target, "probe") == [("step-2", "unknown")]


def test_what_a_probe_does_not_find_is_run(target, died):
    died("test-probe:v1")
    assert calls(target) == [("step-2", "unknown"), ("step-3", "none")]


def test_without_a_safe_way_a_person_decides(target, died):
    execution = died("test-none:v1")
    assert ended(execution) == ("FAILED", "FAILED")
    assert receipts(execution) == [("SUCCEEDED", ""), ("FAILED", "outcome_unknown"), ("PENDING", "")]
    assert execution.receipts.get(position=2).outcome_unknown
    assert calls(target) == []
    retry(execution.transition)
    drain()
    assert calls(target) == [("step-2", "failed"), ("step-3", "failed")]


def test_an_error_that_decides_nothing_leaves_an_unknown_outcome_unknown(target, died):
    target.script("step-2", ("error", "connection refused"))
    execution = died("test-keyed:v1")
    receipt = execution.receipts.get(position=2)
    assert (receipt.status, receipt.error_code, receipt.outcome_unknown) == ("FAILED", "unexpected_error", True)


def test_a_permanent_failure_decides_that_the_earlier_run_did_not_happen(target, died):
    target.script("step-2", ("permanent", "no such table"))
    receipt = died("test-keyed:v1").receipts.get(position=2)
    assert (receipt.status, receipt.error_code, receipt.outcome_unknown) == ("FAILED", "permanent", False)


def test_a_failure_ends_receipt_execution_and_command_together_and_runs_nothing_more(target, failed_execution):
    assert ended(failed_execution) == ("FAILED", "FAILED")
    assert receipts(failed_execution) == [("SUCCEEDED", ""), ("FAILED", "permanent"), ("PENDING", "")]
    assert "no such table" in OutboxCommand.objects.get().last_error
    assert calls(target) == [("step-1", "none"), ("step-2", "none")]


def test_retry_later_waits_in_the_same_attempt_and_costs_no_delivery(target, queued_execution):
    target.script("step-2", ("retry_later", 3600, "maintenance"), ("succeed",))
    drain()
    command = OutboxCommand.objects.get()
    assert ended(queued_execution) == ("QUEUED", "PENDING")
    assert (command.delivery_count, "maintenance" in command.last_error) == (0, True)
    OutboxCommand.objects.update(available_at=command.created_at)
    drain()
    assert ended(queued_execution) == ("SUCCEEDED", "DELIVERED")
    assert [call.step for call in target.calls] == ["step-1", "step-2", "step-2", "step-3"]


def test_retry_later_has_a_bound(target, settings):
    settings.OUTBOX = {**settings.OUTBOX, "MAX_STEP_ATTEMPTS": 3}
    target.script("step-1", ("retry_later", 0))
    execution = factories.queue_execution()
    drain()
    assert receipts(execution)[0] == ("FAILED", "attempts_exhausted")
    assert execution.receipts.get(position=1).attempts == len(target.calls) == 3


def test_a_batch_that_never_ends_is_taken_out_at_the_limit(target, queued_execution):
    for _ in range(2):
        die_in_step(queued_execution, position=1)
        let_lease_end(queued_execution)
    drain(max_deliveries=2)
    assert ended(queued_execution) == ("FAILED", "FAILED")
    receipt = queued_execution.receipts.get(position=1)
    assert (receipt.error_code, receipt.outcome_unknown) == ("delivery_limit", True)
    assert OutboxCommand.objects.get().delivery_count == 2
    assert target.calls == []


def test_an_executor_that_only_a_newer_worker_knows_is_left_to_it(target, queued_execution):
    Execution.objects.update(executor_code="newer:v2")
    drain()
    command = OutboxCommand.objects.get()
    assert ended(queued_execution) == ("QUEUED", "PENDING")
    assert (command.delivery_count, "'newer:v2'" in command.last_error) == (0, True)


@pytest.mark.parametrize(
    ("alter", "code"),
    [
        (lambda: Transition.objects.update(plan_text="{}"), "plan_changed"),
        (lambda: PluginRelease.objects.update(manifest="{}"), "contribution_changed"),
        (lambda: PluginRelease.objects.update(trusted_at=None), "untrusted"),
    ],
    ids=["plan", "payload", "trust"],
)
@pytest.mark.parametrize("position", [None, 2])
def test_the_worker_refuses_what_was_altered_since(target, queued_execution, alter, code, position):
    if position:
        die_in_step(queued_execution, position=position)
        let_lease_end(queued_execution)
    text = queued_execution.transition.plan_text
    alter()
    drain()
    Transition.objects.update(plan_text=text)  # the invariants read the plan
    failed = queued_execution.receipts.get(status="FAILED")
    assert (failed.error_code, failed.position, failed.outcome_unknown) == (code, position or 1, bool(position))
    assert target.calls == []


def test_an_executor_is_never_called_inside_a_transaction(target, queued_execution, monkeypatch):
    from django.db import connection

    seen = []
    target.script("step-1", lambda request: seen.append((connection.in_atomic_block, connection.get_autocommit())))
    drain()
    assert seen == [(False, True)]


def test_a_transaction_that_an_executor_leaves_open_does_not_reach_the_next_step(target, queued_execution):
    from django.db import transaction

    target.script("step-1", lambda request: transaction.atomic().__enter__())
    drain()
    assert ended(queued_execution) == ("SUCCEEDED", "DELIVERED")


def test_running_a_step_in_a_transaction_is_an_error_of_the_engine(target, queued_execution):
    from django.db import transaction

    from transitions.executors.base import PreviousOutcome, StepRequest
    from transitions.steps import run_step

    request = StepRequest(
        key="k", kind="test", direction="forward", step_key="apply:x", payload={}, attempt=1,
        previous_outcome=PreviousOutcome.NONE,
    )  # fmt: skip
    with transaction.atomic(), pytest.raises(InsideTransaction):
        run_step(get_executor("dry-run:v1"), request, in_doubt=False)


def test_what_is_no_receipt_is_an_unknown_outcome(target, queued_execution, monkeypatch):
    monkeypatch.setattr(get_executor("test-keyed:v1"), "run", lambda request: {"target_id": "1"})
    drain()
    receipt = queued_execution.receipts.get(position=1)
    assert (receipt.error_code, receipt.outcome_unknown) == ("outcome_unknown", True)


def test_a_code_of_any_length_is_recorded(target, queued_execution):
    class Odd(Permanent):
        code = "x" * 500

    def fail(request):
        raise Odd("odd")

    target.script("step-1", fail)
    drain()
    assert queued_execution.receipts.get(position=1).error_code == "x" * 50
