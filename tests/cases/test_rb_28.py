"""RB-28: instants keep their fractions: what is due is due at once, and a lease ends when it was said to end."""

from datetime import timedelta

import pytest
from django.core.checks import run_checks
from django.db import connection

from outbox.claims import Claimed, claim
from tests.leased_rows import make_commands
from transitions.models import OutboxCommand

ROWS = 1000


@pytest.mark.django_db
def test_rb_28_every_row_that_is_due_now_is_claimed_in_the_first_look():
    make_commands(ROWS)
    answer = claim(OutboxCommand, owner="w", limit=ROWS, lease_seconds=60, max_deliveries=10)
    assert isinstance(answer, Claimed)
    assert len(answer.leases) == ROWS
    # Where a lease ends is computed by the database in the statement that says when it began.
    kept = {until - began for until, began in OutboxCommand.objects.values_list("lease_until", "leased_at")}
    assert kept == {timedelta(seconds=60)}


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="only MySQL and MariaDB have instants without fractions")
def test_rb_28_a_column_that_rounds_is_reported():
    table = OutboxCommand._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} MODIFY lease_until datetime(0) NULL")
    try:
        told = [message for message in run_checks(databases=["default"]) if message.id == "outbox.E011"]
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table} MODIFY lease_until datetime(6) NULL")
    assert [message.msg for message in told] == [f"{table}.lease_until keeps no microseconds."]
    assert not [message for message in run_checks(databases=["default"]) if message.id == "outbox.E011"]
