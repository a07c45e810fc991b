"""Real threads at the same instant: one wins, the others are told, and nothing happens twice."""

import pytest
from django.db import IntegrityError

from outbox.claims import Claimed, claim
from tests import factories
from tests.dying import die_in_step
from tests.factories import compensate, drain, execute, let_lease_end, retry
from tests.invariants import assert_invariants
from tests.leased_rows import KINDS
from tests.together import together
from transitions.errors import LeaseActive, NotAllowed
from transitions.models import Execution, OutboxCommand, Plugin, PluginRelease, StepReceipt, Transition
from transitions.reconciliation import Reconciled, reconcile_execution

pytestmark = pytest.mark.django_db(transaction=True)

OPERATORS = 4
ROUNDS = 5


@pytest.fixture(params=[True, False], ids=["skip locked", "plain"])
def either_way(request, settings):
    settings.OUTBOX = {**settings.OUTBOX, "SKIP_LOCKED": request.param}


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.usefixtures("either_way")
def test_one_row_is_claimed_by_one_worker(kind):
    for _ in range(ROUNDS):
        row = kind.make(1)[0]

        def claim_it(name: str):
            return claim(kind.model, owner=name, limit=1, lease_seconds=60, max_deliveries=10)

        answers = together(*(lambda name=f"w{number}": claim_it(name) for number in range(8)))
        won = [answer for answer in answers if isinstance(answer, Claimed)]
        assert [lease.pk for answer in won for lease in answer.leases] == [row.pk], answers


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.usefixtures("either_way")
def test_one_expired_row_is_claimed_by_one_worker(kind):
    from tests.leased_rows import NOW

    for _ in range(ROUNDS):
        kind.leased(until=NOW.replace(year=2001))
        answers = together(*(lambda name=f"w{number}": kind.claim(owner=name, now=None) for number in range(8)))
        assert sum(isinstance(answer, Claimed) for answer in answers) == 1, answers


def assert_one_won(answers: list) -> Execution:
    won = [answer for answer in answers if isinstance(answer, Execution)]
    refused = [answer for answer in answers if isinstance(answer, NotAllowed)]
    assert (len(won), len(refused)) == (1, len(answers) - 1), answers
    return won[0]


def test_two_operators_who_execute_at_once_queue_one_batch(target):
    for _ in range(ROUNDS):
        transition = factories.TransitionFactory()
        won = assert_one_won(together(*[lambda one=transition: execute(one)] * OPERATORS))
        assert list(Execution.objects.filter(transition=transition)) == [won]
        assert StepReceipt.objects.filter(execution=won).count() == 3
    assert OutboxCommand.objects.count() == ROUNDS
    assert_invariants()


def test_two_operators_who_retry_at_once_queue_one_attempt(target, failed_execution):
    transition = failed_execution.transition
    assert_one_won(together(*[lambda: retry(transition)] * OPERATORS))
    assert Execution.objects.count() == 2
    assert_invariants()


def test_one_who_retries_and_one_who_compensates_at_once_do_not_both(target, failed_execution):
    transition = failed_execution.transition
    assert_one_won(together(lambda: retry(transition), lambda: compensate(transition)))
    drain()
    assert_invariants()


def test_two_operators_who_reconcile_at_once_free_the_batch_once(target):
    for _ in range(ROUNDS):
        execution = factories.queue_execution()
        die_in_step(execution, position=2)
        let_lease_end(execution)
        call = lambda one=execution: reconcile_execution(execution_id=one.pk, requested_by="olga").result  # noqa: E731
        answers = together(*[call] * OPERATORS)
        assert sorted(answers) == [Reconciled.ALREADY_WAITING] * (OPERATORS - 1) + [Reconciled.RECOVERED]
        drain()
    assert_invariants()


def test_an_operator_who_reconciles_and_a_worker_who_claims_at_once_do_not_both_take_it(target):
    for _ in range(ROUNDS):
        execution = factories.queue_execution()
        die_in_step(execution, position=2)
        let_lease_end(execution)
        freed, claimed = together(
            lambda one=execution: reconcile_execution(execution_id=one.pk, requested_by="olga").result,
            lambda: claim(OutboxCommand, owner="b", limit=1, lease_seconds=60, max_deliveries=10),
        )
        if isinstance(freed, LeaseActive):
            assert isinstance(claimed, Claimed)
        else:
            assert freed is Reconciled.RECOVERED
        assert_invariants()
        if isinstance(claimed, Claimed):
            let_lease_end(execution)
        drain()
    assert set(Execution.objects.values_list("status", flat=True)) == {"SUCCEEDED"}


def test_the_database_itself_refuses_a_second_active_execution(target, transition):
    """Past the guard and its row lock: on MariaDB too, which has no conditional constraint."""
    values = {"transition_id": transition.pk, "direction": "forward", "cycle": 1, "attempt": 1, "requested_by": "olga"}

    def insert(number: int) -> Execution:
        return Execution.objects.create(number=number, executor_code="dry-run:v1", **values)

    answers = together(*(lambda number=number: insert(number) for number in range(OPERATORS)))
    assert sum(isinstance(answer, Execution) for answer in answers) == 1, answers
    assert sum(isinstance(answer, IntegrityError) for answer in answers) == OPERATORS - 1, answers
    Execution.objects.all().delete()


def test_the_same_release_imported_at_once_is_one_row():
    answers = together(*[lambda: factories.ReleaseFactory(plugin="p", trusted=False)] * OPERATORS)
    assert {answer.pk for answer in answers} == {PluginRelease.objects.get().pk}
    assert Plugin.objects.count() == 1


def test_the_same_transition_planned_at_once_is_one_row(target):
    from transitions.planning import plan_transition

    factories.ReleaseFactory(plugin="p")
    call = lambda: plan_transition(plugin="p", from_version=None, to_version="1.0.0", planned_by="olga")  # noqa: E731
    answers = together(*[call] * OPERATORS)
    assert sorted(answer.created for answer in answers) == [False] * (OPERATORS - 1) + [True]
    assert Transition.objects.count() == 1
