"""What may have happened stays on record over attempts, until the target or the executor decides it."""

import pytest

from tests import factories
from tests.dying import die_in_step
from tests.factories import compensate, drain, let_lease_end, retry
from transitions.errors import NotAllowed
from transitions.executors.base import RetryLater, get_executor
from transitions.models import Execution

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("checked")]

ANSWER_LOST = ("after", "unknown")
UNREACHABLE = ("error", "connection refused")


def undoing(execution: Execution) -> list[str]:
    undo = compensate(execution.transition)
    return list(undo.receipts.order_by("position").values_list("step_key", flat=True))


@pytest.mark.parametrize("executor", ["test-keyed:v1", "test-none:v1"])
def test_a_retry_that_did_not_reach_the_target_does_not_forget_that_the_step_may_have_happened(target, executor):
    target.script("step-1", ANSWER_LOST, UNREACHABLE)
    first = factories.queue_execution(executor=executor, steps=2)
    drain()
    retry(first.transition)
    drain()
    assert undoing(first) == ["apply:step-1"]


def test_a_probe_that_did_not_reach_the_target_does_not_forget_it_either(target, monkeypatch):
    def unreachable(request):
        raise ConnectionError("no route to host")

    target.script("step-1", ANSWER_LOST)
    first = factories.queue_execution(executor="test-probe:v1", steps=2)
    drain()
    monkeypatch.setattr(get_executor("test-probe:v1"), "probe", unreachable)
    retry(first.transition)
    drain()
    assert undoing(first) == ["apply:step-1"]


def test_a_retry_whose_batch_is_refused_before_its_first_step_does_not_forget_it_either(target):
    target.script("step-1", ANSWER_LOST)
    first = factories.queue_execution(steps=2)
    drain()
    again = retry(first.transition)
    release = first.transition.to_release
    trusted_at, release.trusted_at = release.trusted_at, None
    release.save()
    drain()
    release.trusted_at = trusted_at
    release.save()
    assert again.receipts.get(position=1).error_code == "untrusted"
    assert undoing(first) == ["apply:step-1"]


def test_a_retry_that_reaches_its_delivery_limit_does_not_forget_it_either(target):
    target.script("step-1", ANSWER_LOST)
    first = factories.queue_execution(steps=2)
    drain()
    again = retry(first.transition)
    factories.claim_command()
    let_lease_end(again)
    drain(max_deliveries=1)
    assert again.receipts.get(position=1).error_code == "delivery_limit"
    assert undoing(first) == ["apply:step-1"]


def test_a_compensation_that_was_in_doubt_is_in_doubt_in_its_retry_as_well(target, succeeded_execution):
    target.script("step-2", ANSWER_LOST, UNREACHABLE, direction="reverse")
    compensate(succeeded_execution.transition)
    drain()
    again = retry(succeeded_execution.transition)
    assert list(again.receipts.values_list("step_key", "outcome_unknown")) == [
        ("apply:step-2", True),
        ("apply:step-1", False),
    ]
    drain()
    assert again.receipts.get(position=1).outcome_unknown


def test_a_compensation_does_not_inherit_the_doubts_of_what_it_undoes(target):
    target.script("step-1", ANSWER_LOST)
    first = factories.queue_execution(executor="test-none:v1", steps=2)
    drain()
    undo = compensate(first.transition)
    assert list(undo.receipts.values_list("step_key", "outcome_unknown")) == [("apply:step-1", False)]
    drain()
    undo.refresh_from_db()
    assert undo.status == "SUCCEEDED"


def test_the_executor_may_decide_in_a_retry_that_it_never_happened(target):
    target.script("step-1", ("unknown",), ("permanent", "no such table"))
    first = factories.queue_execution(steps=2)
    drain()
    retry(first.transition)
    drain()
    with pytest.raises(NotAllowed, match="nothing to undo"):
        compensate(first.transition)


def test_a_person_who_retries_has_decided_for_an_executor_that_cannot_find_out(target):
    target.script("step-1", ANSWER_LOST, ("succeed",))
    first = factories.queue_execution(executor="test-none:v1", steps=1)
    drain()
    again = retry(first.transition)
    drain()
    again.refresh_from_db()
    assert again.status == "SUCCEEDED"
    assert [call.previous for call in target.calls] == ["none", "failed"]


def test_a_second_crash_is_not_covered_by_that_decision(target):
    target.script("step-1", ANSWER_LOST, ("succeed",))
    first = factories.queue_execution(executor="test-none:v1", steps=1)
    drain()
    again = retry(first.transition)
    die_in_step(again, position=1)
    let_lease_end(again)
    drain()
    receipt = again.receipts.get()
    assert (receipt.status, receipt.error_code, receipt.outcome_unknown) == ("FAILED", "outcome_unknown", True)
    assert len(target.calls) == 1


def test_a_retry_looks_for_what_an_earlier_attempt_did_before_it_runs_anything(target):
    target.script("step-1", ANSWER_LOST)
    first = factories.queue_execution(executor="test-probe:v1", steps=1)
    drain()
    retry(first.transition)
    drain()
    assert [call.what for call in target.calls] == ["run", "probe"]
    assert len(target.effects) == 1


def test_a_probe_that_could_not_be_made_is_made_again_before_anything_runs(target, monkeypatch):
    executor = get_executor("test-probe:v1")
    probe, failures = executor.probe, iter([RetryLater("target is down", after=0)])

    def unreliable(request):
        if (error := next(failures, None)) is not None:
            raise error
        return probe(request)

    monkeypatch.setattr(executor, "probe", unreliable)
    execution = factories.queue_execution(executor="test-probe:v1", steps=1)
    die_in_step(execution, position=1)
    target.write(event="effect", key=execution.receipts.get().idempotency_key)
    let_lease_end(execution)
    drain()
    execution.refresh_from_db()
    assert execution.status == "SUCCEEDED"
    assert [call.what for call in target.calls] == ["probe"]
    assert len(target.effects) == 1
