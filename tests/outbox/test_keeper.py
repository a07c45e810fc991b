"""The keeper renews what is held, notices what is lost, and survives a database that does not answer."""

import pytest
from django.db import OperationalError

from outbox import keeper as keeper_module
from outbox.keeper import Keeper
from tests.dying import held
from tests.factories import claim_command, queue_execution
from tests.waiting import wait_until
from transitions.models import OutboxCommand

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("target")]
LEASE_SECONDS = 0.3


@pytest.fixture
def keeper():
    thread = Keeper(LEASE_SECONDS / 3)
    thread.start()
    yield thread
    thread.end()


def end_of_lease():
    return OutboxCommand.objects.get().lease_until


def test_it_renews_for_as_long_as_a_lease_is_kept(keeper, queued_execution):
    hands = held(claim_command(lease_seconds=LEASE_SECONDS), lease_seconds=LEASE_SECONDS)
    first = end_of_lease()
    keeper.keep([hands])
    wait_until(lambda: (end_of_lease() - first).total_seconds() > 3 * LEASE_SECONDS)
    hands.check()
    keeper.drop(hands)


def test_it_notices_a_lost_lease_and_asks_no_more(keeper, queued_execution):
    hands = held(claim_command(lease_seconds=LEASE_SECONDS), lease_seconds=60)
    OutboxCommand.objects.update(lease_token="0" * 32)
    hands._renew_seconds = 0
    keeper.keep([hands])
    wait_until(lambda: hands.seconds_sure == 0)
    assert not keeper._kept


def test_it_tries_again_after_a_failure(keeper, queued_execution, monkeypatch, log_lines):
    renew, failures = keeper_module.renew, iter([1, 1])

    def unreliable(*args, **kwargs):
        if next(failures, 0):
            raise OperationalError("gone away")
        renew(*args, **kwargs)

    monkeypatch.setattr(keeper_module, "renew", unreliable)
    hands = held(claim_command(lease_seconds=60), lease_seconds=LEASE_SECONDS)
    keeper.keep([hands])
    wait_until(lambda: hands.seconds_sure > 0 and len([x for x in log_lines if x["event"] == "renewal_failed"]) == 2)
    keeper.drop(hands)


def test_one_lease_that_is_lost_does_not_cost_the_others_theirs(keeper):
    for _ in range(2):
        queue_execution(steps=1)
    gone, good = (held(claim_command(lease_seconds=60), lease_seconds=LEASE_SECONDS) for _ in range(2))
    OutboxCommand.objects.filter(pk=gone.lease.pk).update(lease_token="0" * 32)
    keeper.keep([gone, good])
    wait_until(lambda: gone not in keeper._kept)
    first = OutboxCommand.objects.get(pk=good.lease.pk).lease_until
    wait_until(lambda: OutboxCommand.objects.get(pk=good.lease.pk).lease_until != first)
    keeper.drop(good)
