"""What may be written under a lease, and that nothing is written under one that is over."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import IntegrityError, transaction

from outbox import claims
from outbox.claims import EmptyQueue
from outbox.leases import LeaseLost
from tests.leased_rows import INSTANT, NOW

pytestmark = pytest.mark.django_db

WRITES = {
    "renew": lambda kind, lease: partial(claims.renew, lease, lease_seconds=60),
    "settle": lambda kind, lease: partial(claims.settle_held, lease, status=kind.ended_as, last_error="late"),
    "release": lambda kind, lease: partial(claims.release_held, lease, available_in=5, last_error="late"),
}


@pytest.fixture(params=WRITES, ids=str)
def write(request):
    return WRITES[request.param]


def test_a_stale_token_writes_nothing_after_a_reclaim(kind, write):
    row = kind.waiting()
    stale = kind.claim_one(lease_seconds=10)
    kind.claim_one(owner="w2", now=NOW + timedelta(seconds=11))
    before = kind.columns(row)
    with pytest.raises(LeaseLost) as lost:
        write(kind, stale)()
    assert lost.value.lease == stale
    assert kind.columns(row) == before


def test_a_token_writes_nothing_after_the_row_was_settled(kind, write):
    row = kind.waiting()
    lease = kind.claim_one()
    claims.settle_held(lease, status=kind.ended_as)
    before = kind.columns(row)
    with pytest.raises(LeaseLost):
        write(kind, lease)()
    assert kind.columns(row) == before


def test_a_token_writes_nothing_after_the_row_was_handed_back(kind, write):
    row = kind.waiting()
    lease = kind.claim_one()
    claims.release_held(lease)
    before = kind.columns(row)
    with pytest.raises(LeaseLost):
        write(kind, lease)()
    assert kind.columns(row) == before


def test_a_token_writes_nothing_after_an_operator_freed_the_row(kind, write):
    row = kind.waiting()
    lease = kind.claim_one(lease_seconds=10)
    assert claims.expire(kind.model, row, using="default", now=NOW + timedelta(seconds=11))
    before = kind.columns(row)
    with pytest.raises(LeaseLost):
        write(kind, lease)()
    assert kind.columns(row) == before


def test_a_holder_may_still_write_when_its_lease_has_ended_and_nobody_took_the_row(kind, write):
    kind.waiting()
    write(kind, kind.claim_one(lease_seconds=1))()  # leased in 2031, so long over or yet to come: only the token counts


def test_another_row_of_the_same_worker_is_not_touched(kind, write):
    mine, other = kind.waiting(), kind.waiting()
    leases = {lease.pk: lease for lease in kind.claim().leases}
    before = kind.columns(other)
    write(kind, leases[mine])()
    assert kind.columns(other) == before


def test_a_renewal_moves_the_end_of_the_lease_and_nothing_else(kind):
    row = kind.waiting()
    lease = kind.claim_one()
    before = kind.columns(row)
    claims.renew(lease, lease_seconds=60, now=NOW + timedelta(seconds=20))
    assert kind.columns(row) == before | {"lease_until": NOW + timedelta(seconds=80)}


def test_a_renewed_lease_is_not_claimable_at_its_first_end(kind):
    kind.waiting()
    claims.renew(kind.claim_one(), lease_seconds=60, now=NOW + timedelta(seconds=20))
    assert kind.claim(now=NOW + timedelta(seconds=61)) == EmptyQueue()


def test_settling_ends_the_row_and_its_lease(kind):
    row = kind.waiting()
    claims.settle_held(kind.claim_one(), status=kind.ended_as, last_error="why")
    columns = kind.columns(row)
    assert (columns["status"], columns["last_error"]) == (kind.ended_as, "why")
    assert columns["lease_token"] is columns["lease_until"] is None
    assert columns["lease_owner"] == "w1"  # who did it stays to be seen
    assert kind.claim(now=NOW + timedelta(days=1)) == EmptyQueue()


def test_settling_in_a_status_that_is_not_terminal_is_refused(kind):
    kind.waiting()
    lease = kind.claim_one()
    for status in (kind.waiting_as, kind.leased_as):
        with pytest.raises(ValueError, match="not a terminal status"):
            claims.settle_held(lease, status=status)


def test_a_release_gives_the_delivery_back_and_leaves_the_row_claimable_at_once(kind):
    row = kind.waiting(delivery_count=4)
    claims.release_held(kind.claim_one())
    columns = kind.columns(row)
    assert (columns["status"], columns["delivery_count"]) == (kind.waiting_as, 4)
    assert columns["lease_token"] is columns["lease_until"] is None
    assert kind.claim_one().delivery_count == 5


def test_a_release_for_later_is_due_that_much_later_by_the_databases_clock(kind):
    row = kind.make(1)[0].pk
    lease = kind.claim_one(now=None)
    claims.release_held(lease, available_in=3600)
    assert kind.claim(now=None) == EmptyQueue()
    columns = kind.columns(row)
    hour = columns["available_at"] - columns["leased_at"]
    assert timedelta(hours=1) <= hour < timedelta(hours=1, minutes=1)


def test_expiring_puts_a_row_whose_lease_has_ended_back_to_waiting_and_keeps_its_count(kind):
    row = kind.leased(until=NOW - INSTANT, delivery_count=3)
    assert claims.expire(kind.model, row, using="default", now=NOW)
    columns = kind.columns(row)
    assert (columns["status"], columns["delivery_count"]) == (kind.waiting_as, 3)
    assert columns["available_at"] == NOW
    assert columns["lease_token"] is columns["lease_until"] is None


@pytest.mark.parametrize(
    "state",
    [
        lambda kind: kind.leased(until=NOW),
        lambda kind: kind.leased(until=NOW + INSTANT),
        lambda kind: kind.waiting(),
        lambda kind: kind.ended(),
    ],
    ids=["ends now", "live", "waiting", "ended"],
)
def test_expiring_changes_no_other_row(kind, state):
    row = state(kind)
    before = kind.columns(row)
    assert not claims.expire(kind.model, row, using="default", now=NOW)
    assert kind.columns(row) == before


@pytest.mark.parametrize("missing", ["lease_token", "lease_until", "leased_at"])
def test_the_database_refuses_a_leased_row_that_no_claim_could_see(kind, missing):
    row = kind.leased(until=NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        kind.model.objects.filter(pk=row).update(**{missing: None})


@pytest.mark.parametrize("status", ["waiting_as", "ended_as"])
def test_the_database_refuses_a_token_on_a_row_that_nobody_holds(kind, status):
    row = kind.leased(until=NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        kind.model.objects.filter(pk=row).update(status=getattr(kind, status))


def test_the_database_refuses_a_status_that_the_model_does_not_know(kind):
    row = kind.waiting()
    with pytest.raises(IntegrityError), transaction.atomic():
        kind.model.objects.filter(pk=row).update(status="ODD")
