"""Time is the database's: in UTC whatever the session's zone, and never a parameter of a decision."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from outbox import claims
from outbox.clock import moment, moment_after
from tests import factories
from tests.factories import claim_command
from transitions.models import OutboxCommand
from transitions.reconciliation import reconcile_execution


@pytest.fixture
def far_away_session():
    """A session whose time zone is not UTC, as on a server that runs on local time."""
    if connection.vendor == "sqlite":
        yield
        return
    zone, default = {"mysql": ("time_zone = '+05:00'", "time_zone = DEFAULT")}.get(
        connection.vendor, ("TIME ZONE '+05:00'", "TIME ZONE 'UTC'")
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SET {zone}")
        yield
        cursor.execute(f"SET {default}")


@pytest.mark.django_db
@pytest.mark.usefixtures("far_away_session", "target")
def test_a_row_is_due_and_leased_in_utc_whatever_the_sessions_zone(queued_execution):
    lease = claim_command(lease_seconds=60)
    command = OutboxCommand.objects.get(pk=lease.pk)
    for instant in (command.available_at, command.leased_at, command.lease_until - timedelta(seconds=60)):
        # The server of a test runs on the same machine.
        assert abs(instant - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.django_db
@pytest.mark.usefixtures("target")
def test_rb_10_no_instant_of_this_process_is_a_parameter_of_a_decision(queued_execution):
    """RB-10: claim, renew, release and reconcile compare and write what the database's own clock says."""
    with CaptureQueriesContext(connection) as queries:
        lease = claim_command()
        claims.renew(lease, lease_seconds=60)
        claims.release_held(lease, available_in=1)
        claims.expire(OutboxCommand, lease.pk, using="default")
    sent = [query["sql"] for query in queries]
    assert any("lease_until" in sql for sql in sent)
    assert not [sql for sql in sent if re.search(r"\d{4}-\d\d-\d\d", sql)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("target")
def test_rb_10_a_reconciliation_asks_the_databases_clock_as_well(expired_execution):
    with CaptureQueriesContext(connection) as queries:
        reconcile_execution(execution_id=expired_execution.pk, requested_by="olga")
    assert not [query["sql"] for query in queries if re.search(r"\d{4}-\d\d-\d\d", query["sql"])]


def test_an_injected_instant_stands_in_for_the_clock():
    instant = datetime(2031, 1, 1, tzinfo=UTC)
    assert moment(instant).value == instant
    assert moment_after(5, instant).rhs.value == timedelta(seconds=5)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("target")
def test_a_batch_ends_right_in_any_time_zone(settings):
    settings.TIME_ZONE = "America/Sao_Paulo"
    factories.queue_execution()
    factories.drain()
    assert OutboxCommand.objects.get().status == "DELIVERED"
