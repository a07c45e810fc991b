"""RB-11: a recovery, asked for by hand, touches nothing that a worker holds, and frees each expired row once."""

import pytest

from tests import factories
from tests.barriers import Gate, at
from tests.dying import die_in_step
from tests.factories import claim_command, drain, let_lease_end
from tests.together import Background, elsewhere, together
from transitions.errors import LeaseActive
from transitions.models import Execution, OutboxCommand, StepReceipt
from transitions.reconciliation import Reconciled, reconcile_execution

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("checked")]


def reconcile(execution: Execution) -> Reconciled:
    return reconcile_execution(execution_id=execution.pk, requested_by="olga").result


def everything() -> list:
    return [list(model.objects.order_by("pk").values()) for model in (OutboxCommand, Execution, StepReceipt)]


def test_rb_11_a_hundred_reconciliations_of_running_work_change_nothing(target, queued_execution):
    die_in_step(queued_execution, position=2)
    before = everything()
    for _ in range(100):
        with pytest.raises(LeaseActive, match=r"unchanged: active lease for .* s more by w1") as refused:
            reconcile(queued_execution)
        assert 0 < refused.value.seconds_left <= 60
    assert everything() == before


def test_rb_11_a_fresh_claim_is_running_work(target, queued_execution):
    claim_command()
    with pytest.raises(LeaseActive):
        reconcile(queued_execution)


def test_rb_11_an_expired_batch_is_freed_once(target, queued_execution):
    die_in_step(queued_execution, position=2)
    let_lease_end(queued_execution)
    assert reconcile(queued_execution) is Reconciled.RECOVERED
    queued_execution.refresh_from_db()
    assert queued_execution.status == "QUEUED"
    receipts = queued_execution.receipts.values_list("status", "outcome_unknown")
    assert list(receipts) == [("SUCCEEDED", False), ("PENDING", True), ("PENDING", False)]
    assert reconcile(queued_execution) is Reconciled.ALREADY_WAITING
    drain()
    assert [call.step for call in target.calls] == ["step-2", "step-3"]


def test_rb_11_a_sweep_over_a_list_that_is_out_of_date_leaves_alone_what_was_claimed_since(target):
    executions = [factories.queue_execution(steps=1) for _ in range(3)]
    for _ in executions:
        claim_command()
    for execution in executions:
        let_lease_end(execution)
    listed = list(Execution.objects.order_by("pk"))
    for execution in listed:
        assert elsewhere(lambda one=execution: reconcile(one)) is Reconciled.RECOVERED
    drain()
    before = everything()
    assert [reconcile(execution) for execution in listed] == [Reconciled.TERMINAL] * 3
    assert everything() == before
    assert len(target.calls) == 3


def test_rb_11_a_hundred_reconciliations_beside_a_running_worker_bring_no_second_call(target, queued_execution):
    gate = Gate()
    target.script("step-1", gate)
    with Background(drain):
        gate.wait_until_reached()
        try:
            answers = [_refused(queued_execution) for _ in range(100)]
        finally:
            gate.open()
    assert answers == ["w1"] * 100
    assert target.runs == ["step-1", "step-2", "step-3"]
    assert OutboxCommand.objects.get().delivery_count == 1


def _refused(execution: Execution) -> str:
    with pytest.raises(LeaseActive) as refused:
        reconcile(execution)
    return refused.value.owner


def test_rb_11_a_reconciliation_right_after_the_claim_committed_is_refused(target, queued_execution):
    owners = []
    with at("after_claim_commit", lambda: owners.append(_refused(queued_execution))):
        drain()
    assert owners == ["w1"]
    assert target.runs == ["step-1", "step-2", "step-3"]


def test_rb_11_of_two_sweeps_at_once_one_frees_the_row_and_the_other_is_told(target, expired_execution, log_lines):
    answers = together(*[lambda: reconcile(expired_execution)] * 2)
    assert sorted(answers) == [Reconciled.ALREADY_WAITING, Reconciled.RECOVERED]
    drain()
    told = [line["result"] for line in log_lines if line["event"] == "execution_reconciled"]
    assert told.count(Reconciled.RECOVERED) == 1
    assert target.runs == ["step-1", "step-2", "step-3"]
    assert OutboxCommand.objects.get().delivery_count == 2  # that of the worker that died, and one more


def test_rb_11_a_sweep_over_a_list_that_is_out_of_date_does_not_free_the_next_lease(target, expired_execution):
    assert reconcile(expired_execution) is Reconciled.RECOVERED
    claim_command(owner="w2")
    before = everything()
    assert _refused(expired_execution) == "w2"
    assert everything() == before
