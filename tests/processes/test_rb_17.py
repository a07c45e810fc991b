"""RB-17: the server ends the worker's sessions; the process stays, and all work completes."""

from pathlib import Path

import pytest
from django.db import connection

from tests import factories
from tests.invariants import assert_invariants
from tests.waiting import wait_until
from tests.worker_process import running
from transitions.models import OutboxCommand

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no sessions that a server could end"),
]


def end_all_other_sessions() -> int:
    """On the test database; returns how many."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            query = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            cursor.execute(f"{query} WHERE datname = current_database() AND pid <> pg_backend_pid()")
            return cursor.fetchone()[0]
        query = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
        cursor.execute(query)
        sessions = [session for (session,) in cursor.fetchall()]
        for session in sessions:
            cursor.execute("KILL %s", [session])
        return len(sessions)


def delivered() -> bool:
    return not OutboxCommand.objects.exclude(status="DELIVERED").exists()


@pytest.fixture
def gate(tmp_path) -> Path:
    folder = tmp_path / "gate"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("point", ["after_claim_commit", "inside_executor", "after_executor_before_receipt"])
def test_rb_17_sessions_ended_in_the_middle_cost_no_step_a_second_call(target, queued_execution, gate, point):
    with running(at=(point, 1, f"wait {gate}"), OUTBOX_LEASE_SECONDS=20) as worker:
        wait_until((gate / "here").exists)
        assert end_all_other_sessions() > 0
        (gate / "go").touch()
        wait_until(delivered)
        assert worker.process.poll() is None
    assert [call.step for call in target.calls] == ["step-1", "step-2", "step-3"]
    command = OutboxCommand.objects.get()
    assert (command.delivery_count, command.lease_owner) == (1, "a")
    assert_invariants()


def test_rb_17_sessions_ended_while_idle_cost_one_interval(target, queued_execution):
    with running() as worker:
        wait_until(delivered)
        end_all_other_sessions()
        factories.queue_execution()
        wait_until(delivered)
    assert len(worker.log("database_unavailable")) <= 1
    assert_invariants()
