"""RB-13: a claim marks what it returns, and never more than it was asked for, whatever the planner does."""

import pytest
from django.db import connection

from outbox.claims import Claimed, EmptyQueue, LostRace, claim
from tests.leased_rows import make_commands
from tests.together import together
from transitions.models import OutboxCommand

ROWS, WORKERS, BATCH = 600, 8, 5


def claim_all(owner: str) -> list[list[int]]:
    """Claim until nothing is left; returns what each call got, after comparing it with what it marked."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET enable_hashjoin = off; SET enable_mergejoin = off")
    taken = []
    while True:
        answer = claim(OutboxCommand, owner=owner, limit=BATCH, lease_seconds=60, max_deliveries=10)
        match answer:
            case Claimed(leases):
                taken.append(_marked_and_returned(leases))
            case EmptyQueue():
                return taken
            case LostRace():
                continue


def _marked_and_returned(leases) -> list[int]:
    marked = OutboxCommand.objects.filter(lease_token=leases[0].token).values_list("pk", flat=True)
    returned = sorted(lease.pk for lease in leases)
    assert sorted(marked) == returned
    assert len(returned) <= BATCH
    return returned


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("skip_locked", [True, False], ids=["skip locked", "plain"])
def test_rb_13_eight_workers_take_every_row_once_and_no_more_than_they_asked_for(settings, skip_locked):
    settings.OUTBOX = {**settings.OUTBOX, "SKIP_LOCKED": skip_locked}
    made = [command.pk for command in make_commands(ROWS)]
    answers = together(*(lambda name=f"w{number}": claim_all(name) for number in range(WORKERS)))
    errors = [answer for answer in answers if isinstance(answer, Exception)]
    assert not errors, errors
    assert sorted(pk for calls in answers for call in calls for pk in call) == sorted(made)
    assert set(OutboxCommand.objects.values_list("delivery_count", flat=True)) == {1}
