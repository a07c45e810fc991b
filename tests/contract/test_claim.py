"""What a claim takes, what it leaves, and what it writes."""

from datetime import timedelta

import pytest
from django.db import transaction

from outbox.claims import Claimed, EmptyQueue, LostRace
from tests.barriers import at
from tests.leased_rows import INSTANT, NOW

pytestmark = pytest.mark.django_db


def taken(answer) -> list[int]:
    return [lease.pk for lease in answer.leases] if isinstance(answer, Claimed) else []


def test_an_empty_queue_is_answered_as_such(kind):
    assert kind.claim() == EmptyQueue()


@pytest.mark.parametrize("due", [NOW, NOW - INSTANT, NOW - timedelta(days=400)])
def test_a_waiting_row_is_claimable_from_the_instant_at_which_it_is_due(kind, due):
    row = kind.waiting(available_at=due)
    assert taken(kind.claim()) == [row]


def test_a_row_that_is_due_later_is_not_claimable(kind):
    kind.waiting(available_at=NOW + INSTANT)
    assert kind.claim() == EmptyQueue()


@pytest.mark.parametrize("left", [timedelta(0), INSTANT, timedelta(minutes=1)])
def test_a_leased_row_is_not_claimable_up_to_the_very_instant_of_its_end(kind, left):
    kind.leased(until=NOW + left)
    assert kind.claim() == EmptyQueue()


def test_a_leased_row_is_claimable_right_after_its_end(kind):
    row = kind.leased(until=NOW - INSTANT)
    assert taken(kind.claim()) == [row]


def test_a_leased_row_is_not_claimable_because_it_is_due(kind):
    kind.leased(until=NOW + INSTANT, available_at=NOW - timedelta(days=1))
    assert kind.claim() == EmptyQueue()


def test_a_row_in_a_terminal_status_is_never_claimable(kind):
    kind.ended()
    assert kind.claim() == EmptyQueue()


def test_no_more_rows_are_marked_than_the_limit_and_all_of_them_are_returned(kind):
    for _ in range(5):
        kind.waiting()
    answer = kind.claim(limit=3)
    assert len(taken(answer)) == 3
    marked = kind.model.objects.filter(status=kind.leased_as).values_list("pk", flat=True)
    assert sorted(marked) == sorted(taken(answer))


def test_rows_come_by_the_time_at_which_they_were_due_then_by_age(kind):
    second, third = kind.waiting(), kind.waiting()
    first = kind.waiting(available_at=NOW - timedelta(hours=1))
    assert taken(kind.claim()) == [first, second, third]


def test_expired_leases_come_before_waiting_rows_the_oldest_first_and_each_alone(kind):
    """The worker of an expired row may have died of it: it takes no other row along."""
    waiting = [kind.waiting(available_at=NOW - timedelta(days=9)) for _ in range(2)]
    late, early = (kind.leased(until=NOW - timedelta(seconds=seconds)) for seconds in (1, 2))
    assert [taken(kind.claim()) for _ in range(3)] == [[early], [late], waiting]


def test_a_claim_writes_token_owner_times_and_one_more_delivery(kind):
    row = kind.waiting(delivery_count=3)
    lease = kind.claim_one(owner="worker-7", lease_seconds=90)
    columns = kind.columns(row)
    assert columns["status"] == kind.leased_as
    assert columns["lease_token"] == lease.token
    assert columns["lease_owner"] == lease.owner == "worker-7"
    assert (columns["leased_at"], columns["lease_until"]) == (NOW, NOW + timedelta(seconds=90))
    assert columns["delivery_count"] == lease.delivery_count == 4


def test_a_reclaim_has_a_token_that_was_never_used(kind):
    row = kind.leased(until=NOW - INSTANT)
    before = kind.columns(row)["lease_token"]
    first = kind.claim_one()
    second = kind.claim_one(now=NOW + timedelta(seconds=61))
    assert len({before, first.token, second.token}) == 3
    assert second.delivery_count == first.delivery_count + 1


def test_a_name_too_long_for_the_column_is_cut_and_no_reason_to_fail(kind):
    kind.waiting()
    assert kind.claim_one(owner="w" * 300).owner == "w" * 100


def test_a_row_at_its_last_delivery_comes_as_one_too_many_and_is_counted_no_further(kind):
    row = kind.waiting(delivery_count=9)
    counts = []
    for minute in range(4):
        counts.append(kind.claim_one(now=NOW + timedelta(minutes=2 * minute)).delivery_count)
    assert counts == [10, 11, 11, 11]
    assert kind.columns(row)["delivery_count"] == 11


def test_a_claim_that_lost_every_candidate_is_not_an_empty_queue(kind):
    kind.waiting()
    with at("after_poll", lambda: _take_all(kind)):
        assert kind.claim() == LostRace()
    assert kind.claim() == EmptyQueue()


def test_a_claim_that_lost_one_candidate_returns_the_others_and_marks_no_more(kind):
    lost, kept = kind.waiting(), kind.waiting()
    with at("after_poll", lambda: _take_all(kind, pk=lost)):
        answer = kind.claim()
    assert taken(answer) == [kept]
    assert kind.model.objects.filter(lease_token=answer.leases[0].token).count() == 1


def _take_all(kind, **which):
    other = kind.leased(until=NOW + INSTANT)
    lease = ("status", "lease_token", "lease_owner", "leased_at", "lease_until")
    values = {name: value for name, value in kind.columns(other).items() if name in lease}
    kind.model.objects.filter(status=kind.waiting_as, **which).update(**values)


def test_by_the_databases_own_clock_a_new_row_is_due_at_once_and_leased_for_as_long_as_was_asked(kind):
    row = kind.make(1)[0].pk
    kind.claim_one(now=None, lease_seconds=30)
    columns = kind.columns(row)
    assert columns["lease_until"] - columns["leased_at"] == timedelta(seconds=30)
    assert kind.claim(now=None) == EmptyQueue()


@pytest.mark.django_db(transaction=True)
def test_a_claim_inside_a_transaction_is_refused_since_it_could_be_rolled_back(kind):
    kind.waiting()
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        kind.claim()
    assert not kind.model.objects.filter(status=kind.leased_as).exists()
