"""What a holder knows of its lease by its own clock."""

import time
from uuid import uuid4

import pytest

from outbox.held import HeldLease, StopRequest
from outbox.leases import Lease, LeaseLost
from transitions.models import OutboxCommand

LEASE = Lease(OutboxCommand, 1, uuid4(), "w", 1, "default")


def held(*, age: float = 0, lease_seconds: float = 60, renew_seconds: float = 20) -> HeldLease:
    """A lease that was claimed ``age`` seconds ago."""
    terms = {"lease_seconds": lease_seconds, "renew_seconds": renew_seconds}
    return HeldLease(LEASE, **terms, claimed_at=time.monotonic() - age, stop=StopRequest())


def test_it_is_sure_until_its_lease_ends_reckoned_from_before_the_claim():
    assert 49 < held(age=10).seconds_sure <= 50
    held(age=59).check()


@pytest.mark.parametrize("age", [60, 3600])
def test_it_is_not_sure_afterwards(age):
    with pytest.raises(LeaseLost):
        held(age=age).check()


def test_a_renewal_makes_it_sure_from_when_it_was_sent():
    hands = held(age=59)
    hands.renewed(time.monotonic() - 5)
    assert 54 < hands.seconds_sure <= 55


def test_a_renewal_that_was_overtaken_does_not_shorten_it():
    hands = held()
    hands.renewed(time.monotonic() - 30)
    assert hands.seconds_sure > 59


def test_a_loss_that_is_known_is_final():
    hands = held()
    hands.lose()
    hands.renewed(time.monotonic())
    assert hands.seconds_sure == 0
    with pytest.raises(LeaseLost) as lost:
        hands.check()
    assert lost.value.lease is LEASE


@pytest.mark.parametrize(("age", "due"), [(9, False), (11, True), (59, True)])
def test_a_renewal_is_due_in_the_second_half_of_its_interval(age, due):
    assert held(age=age).renewal_due is due


def test_past_its_deadline_it_is_renewed_no_more():
    hands = held(age=30)
    hands.start_delivery(0)
    assert hands.past_deadline
    assert not hands.renewal_due
