"""RB-16: SQLite with several writers waits for its turn; nobody is told that the database is locked."""

import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.invariants import assert_invariants
from tests.together import together
from tests.waiting import wait_until
from tests.worker_process import WorkerProcess, all_running
from transitions.models import Execution, OutboxCommand

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="about the one writer of SQLite"),
]
SECONDS = 5


def publish() -> int:
    ends_at, count = time.monotonic() + SECONDS, 0
    while time.monotonic() < ends_at:
        factories.queue_execution(steps=2)
        count += 1
        time.sleep(0.05)
    return count


def look() -> int:
    """As an operator who refreshes the list of executions."""
    ends_at, count = time.monotonic() + SECONDS, 0
    while time.monotonic() < ends_at:
        list(Execution.objects.select_related("command", "transition__plugin")[:100])
        count += 1
        time.sleep(0.1)
    return count


def test_rb_16_publishers_operators_and_four_workers_share_one_file(target):
    workers = [WorkerProcess("--batch-size", "5", name=name) for name in "abcd"]
    with all_running(workers):
        answers = together(publish, publish, look)
        assert all(isinstance(answer, int) and answer > 0 for answer in answers), answers
        wait_until(lambda: not OutboxCommand.objects.exclude(status="DELIVERED").exists())
        assert [worker.stop() for worker in workers] == [0] * 4
    assert set(OutboxCommand.objects.values_list("delivery_count", flat=True)) == {1}
    assert len(target.calls) == 2 * sum(answers[:2])
    assert not [line for worker in workers for line in worker.log() if line["level"] not in ("info", "debug")]
    assert_invariants()


def test_rb_16_a_claim_begins_as_a_writer(target, queued_execution):
    with CaptureQueriesContext(connection) as queries:
        factories.claim_command()
    assert queries[0]["sql"] == "BEGIN IMMEDIATE"
