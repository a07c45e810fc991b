"""RB-04: a worker that can't renew starts no further step once its own clock says that its lease may have ended.

That a long step is renewed and run once is shown with real processes in ``tests/processes``.
"""

import time

import pytest
from django.db import OperationalError

from tests.barriers import at
from tests.factories import claim_command, drain
from tests.waiting import wait_until
from transitions.models import OutboxCommand

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("checked", "target")]
LEASE_SECONDS = 1.0


def lease_ended() -> bool:
    return OutboxCommand.objects.expired().exists()


def test_rb_04_cut_off_from_the_database_it_stops_and_another_goes_on_with_the_same_key(
    target, queued_execution, monkeypatch, log_lines
):
    def unreachable(*args, **kwargs):
        raise OperationalError("no route to host")

    def outlive_the_lease(request):
        wait_until(lease_ended)
        claim_command(owner="b", lease_seconds=60)

    monkeypatch.setattr("outbox.keeper.renew", unreachable)
    target.script("step-1", outlive_the_lease)
    drain(lease_seconds=LEASE_SECONDS, renew_seconds=LEASE_SECONDS / 3)
    assert [call.step for call in target.calls] == ["step-1"]
    assert sum(line["event"] == "lease_lost" for line in log_lines) == 1
    assert OutboxCommand.objects.get().lease_owner == "b"


def test_rb_04_a_step_that_was_marked_too_late_is_not_started(target, queued_execution, monkeypatch):
    """The commit of the mark took longer than the lease: the step runs once, in the delivery that follows."""
    monkeypatch.setattr("outbox.keeper.Keeper._renew_all", lambda self: None)
    with at("after_step_mark_commit", lambda: time.sleep(LEASE_SECONDS + 0.1)):
        drain(lease_seconds=LEASE_SECONDS, renew_seconds=LEASE_SECONDS / 3)
    assert [(call.step, call.previous) for call in target.calls][:2] == [("step-1", "unknown"), ("step-2", "none")]
    assert OutboxCommand.objects.get().delivery_count == 2
