"""What a worker claims, starts, hands back, and does when the database does not answer."""

import threading
from types import SimpleNamespace

import pytest
from django.db import OperationalError

from outbox import claims, lanes
from outbox.lane_runner import Until
from outbox.leases import LeaseLost
from outbox.worker import ExitCode
from tests import factories
from tests.barriers import Gate
from tests.factories import drain, worker
from tests.waiting import wait_until
from transitions.delivery import CommandLane
from transitions.models import OutboxCommand

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("target")]


def queue(number: int) -> None:
    for _ in range(number):
        factories.queue_execution(steps=1)


def statuses() -> list[str]:
    return sorted(OutboxCommand.objects.values_list("status", flat=True))


def running(engine) -> SimpleNamespace:
    """The worker on a thread; ``end()`` stops it and gives its exit code."""
    codes: list[ExitCode] = []
    thread = threading.Thread(target=lambda: codes.append(engine.run()), daemon=True)
    thread.start()

    def end() -> ExitCode:
        engine.request_stop()
        thread.join(20)
        return codes[0]

    return SimpleNamespace(end=end)


def test_once_claims_one_batch_of_rows():
    queue(3)
    assert drain_once(batch_size=2) is ExitCode.STOPPED
    assert statuses() == ["DELIVERED", "DELIVERED", "PENDING"]


def drain_once(**options) -> ExitCode:
    return worker(until=Until.CLAIMED_ONCE, **options).run()


def test_once_on_an_empty_queue_ends():
    assert drain_once() is ExitCode.STOPPED


@pytest.mark.parametrize("concurrency", [1, 4])
def test_draining_delivers_all_that_is_claimable(concurrency):
    queue(7)
    assert drain(concurrency=concurrency, batch_size=3) is ExitCode.STOPPED
    assert statuses() == ["DELIVERED"] * 7


def test_draining_leaves_what_is_due_later(target):
    target.script("step-1", ("retry_later", 3600))
    queue(1)
    drain()
    assert statuses() == ["PENDING"]


def test_as_many_deliveries_run_side_by_side_as_there_are_slots(target):
    gate, inside = Gate(), []

    def wait(request):
        inside.append(request.key)
        gate()

    target.script("step-1", wait)
    queue(3)
    engine = running(worker(until=Until.STOPPED, concurrency=2, batch_size=5))
    wait_until(lambda: len(inside) == 2)
    assert len(inside) == 2
    gate.open()
    wait_until(lambda: statuses() == ["DELIVERED"] * 3)
    assert engine.end() is ExitCode.STOPPED


def test_rows_that_wait_for_a_slot_longer_than_a_renewal_are_handed_back(target, log_lines):
    gate = Gate()
    target.script("step-1", gate)
    queue(3)
    engine = running(worker(until=Until.STOPPED, batch_size=3, lease_seconds=60, renew_seconds=0.2))
    gate.wait_until_reached()
    wait_until(lambda: statuses() == ["PENDING", "PENDING", "PROCESSING"])
    assert set(OutboxCommand.objects.filter(status="PENDING").values_list("delivery_count", flat=True)) == {0}
    gate.open()
    wait_until(lambda: statuses() == ["DELIVERED"] * 3)
    engine.end()
    assert sum(line["event"] == "lease_handed_back" for line in log_lines) >= 2


def test_a_stop_lets_the_step_end_records_it_and_hands_the_rest_back(target, queued_execution):
    engine = worker(until=Until.STOPPED)
    target.script("step-2", lambda request: engine.request_stop())
    assert engine.run() is ExitCode.STOPPED
    receipts = queued_execution.receipts.order_by("position").values_list("status", flat=True)
    assert list(receipts) == ["SUCCEEDED", "SUCCEEDED", "PENDING"]
    assert statuses() == ["PENDING"]
    assert OutboxCommand.objects.get().delivery_count == 0


def test_past_its_deadline_a_batch_goes_on_as_another_delivery_after_each_step(target, queued_execution, log_lines):
    drain(deadline_seconds=0.0)
    assert statuses() == ["DELIVERED"]
    assert [call.step for call in target.calls] == ["step-1", "step-2", "step-3"]
    outcomes = [line["outcome"] for line in log_lines if line["event"] == "delivered"]
    assert outcomes == ["handed_back", "handed_back", "succeeded"]


def test_a_lost_lease_is_logged_once_and_the_next_row_is_delivered(target, log_lines):
    def rob(request):
        OutboxCommand.objects.filter(status="PROCESSING").update(lease_token="0" * 32)

    calls = iter([rob, lambda request: None])
    target.script("step-1", lambda request: next(calls)(request))  # noqa: PLW0108  (one a call)
    queue(2)
    drain(batch_size=1)
    assert sum(line["event"] == "lease_lost" for line in log_lines) == 1
    assert statuses() == ["DELIVERED", "PROCESSING"]


def test_an_outcome_that_cannot_be_recorded_is_left_to_the_end_of_the_lease(target, monkeypatch, log_lines):
    def broken(self, held):
        raise RuntimeError("a bug")

    monkeypatch.setattr(CommandLane, "deliver", broken)
    queue(1)
    drain()
    assert statuses() == ["PROCESSING"]
    assert [line["event"] for line in log_lines if line["log_level"] == "error"] == ["outcome_not_recorded"]


def test_a_database_that_does_not_answer_costs_a_pause_and_a_line_each(target, monkeypatch, log_lines):
    claim, failures = claims.claim, iter([1, 1])

    def unreliable(*args, **kwargs):
        if next(failures, 0):
            raise OperationalError("gone away")
        return claim(*args, **kwargs)

    monkeypatch.setattr("outbox.lane_runner.backoff_seconds", lambda failures: 0.01 * failures)
    monkeypatch.setattr(claims, "claim", unreliable)
    queue(1)
    engine = running(worker(until=Until.STOPPED))
    wait_until(lambda: statuses() == ["DELIVERED"])
    assert engine.end() is ExitCode.STOPPED
    told = [line["retry_in"] for line in log_lines if line["event"] == "database_unavailable"]
    assert len(told) == 2


def test_a_bounded_run_raises_instead_of_waiting(monkeypatch):
    def broken(*args, **kwargs):
        raise OperationalError("gone away")

    monkeypatch.setattr(claims, "claim", broken)
    with pytest.raises(OperationalError):
        drain()


def test_a_lost_race_is_no_empty_queue(monkeypatch):
    claim, races = claims.claim, iter([1, 1, 1])
    monkeypatch.setattr(claims, "claim", lambda *a, **k: claims.LostRace() if next(races, 0) else claim(*a, **k))
    queue(1)
    drain()
    assert statuses() == ["DELIVERED"]


def test_a_row_that_is_lost_before_it_starts_is_not_started(target, monkeypatch):
    def lose(self):
        raise LeaseLost(self.lease)

    monkeypatch.setattr("outbox.held.HeldLease.check", lose)
    queue(1)
    drain()
    assert target.calls == []


def test_a_lane_has_one_name():
    with pytest.raises(ValueError, match="'commands' is registered already"):
        lanes.register(CommandLane())
