"""RB-11: a recovery, asked for by hand, touches nothing that a worker holds, and frees each expired row once."""

import pytest

from tests import factories
from tests.dying import die_in_step
from tests.factories import claim_command, drain, let_lease_end
from tests.together import elsewhere
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
