"""RB-50: what was done is undone, last step first; what never ran is not, and a crash in between changes neither.

``tests/crashes`` kills real workers at every barrier of a compensation.
"""

import pytest

from tests import factories
from tests.barriers import WALK, at
from tests.dying import die_in_step
from tests.factories import compensate, drain, execute, let_lease_end
from transitions.errors import NotAllowed
from transitions.models import OutboxCommand

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("checked")]


@pytest.fixture
def failed_at_3(target):
    target.script("step-3", ("permanent", "no"))
    execution = factories.queue_execution(steps=4)
    drain()
    return execution


def undone(target) -> list[str]:
    return [call.step for call in target.calls if call.direction == "reverse"]


def test_rb_50_two_steps_are_undone_in_reverse_order_and_never_the_third_or_fourth(target, failed_at_3):
    undo = compensate(failed_at_3.transition)
    drain()
    assert undone(target) == ["step-2", "step-1"]
    forward = set(failed_at_3.receipts.values_list("idempotency_key", flat=True))
    assert not forward & set(undo.receipts.values_list("idempotency_key", flat=True))
    assert len(target.effects) == 4


@pytest.mark.parametrize("position", [1, 2])
def test_rb_50_after_a_crash_it_goes_on_at_the_ambiguous_step_with_the_same_key(target, failed_at_3, position):
    undo = compensate(failed_at_3.transition)
    keys = dict(undo.receipts.values_list("step_key", "idempotency_key"))
    die_in_step(undo, position=position)
    let_lease_end(undo)
    drain()
    assert undone(target) == ["step-2", "step-1"][position - 1 :]
    assert all(call.key == keys[f"apply:{call.step}"] for call in target.calls if call.direction == "reverse")
    undo.refresh_from_db()
    assert undo.status == "SUCCEEDED"


def test_rb_50_a_second_compensation_is_refused_with_the_reason(target, failed_at_3):
    compensate(failed_at_3.transition)
    with pytest.raises(NotAllowed, match="is QUEUED already"):
        compensate(failed_at_3.transition)
    drain()
    with pytest.raises(NotAllowed, match="it is compensated already"):
        compensate(failed_at_3.transition)
    execute(failed_at_3.transition)


class Died(BaseException):
    """The worker's thread ends here; what it committed stays."""


def die() -> None:
    raise Died


@pytest.mark.parametrize("executor", ["test-keyed:v1", "test-probe:v1"])
@pytest.mark.parametrize("barrier", WALK[1:])
def test_rb_50_wherever_the_walk_breaks_off_each_step_is_undone_once_in_order(target, executor, barrier):
    target.script("step-3", ("permanent", "no"))
    forward = factories.queue_execution(steps=4, executor=executor)
    drain()
    done = len(target.effects)
    undo = compensate(forward.transition)
    keys = list(undo.receipts.order_by("position").values_list("idempotency_key", flat=True))
    with at(barrier, die):
        drain()
    if OutboxCommand.objects.get(execution=undo).status == "PROCESSING":
        let_lease_end(undo)
    drain()
    undo.refresh_from_db()
    assert undo.status == "SUCCEEDED"
    assert target.effects[done:] == keys
    assert list(undo.receipts.values_list("step_key", flat=True)) == ["apply:step-2", "apply:step-1"]
    assert set(undone(target)) == {"step-2", "step-1"}
