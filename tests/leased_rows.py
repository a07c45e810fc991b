"""Rows of each leased model, in any state that a claim can meet. A new leased model is one more line in `KINDS`."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from outbox import claims
from outbox.leases import Lease, Leased
from transitions.canonical import fingerprint
from transitions.models import Execution, OutboxCommand, Plugin, Transition
from transitions.plans import Plan
from transitions.states import Direction

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
_numbers = count(1)


def make_commands(number: int = 1) -> list[OutboxCommand]:
    """Waiting commands of empty batches, each of a transition of its own."""
    plugin = Plugin.objects.create(code=f"leased-{next(_numbers)}-{uuid.uuid4().hex[:8]}")
    text = Plan(plugin.code, None, None, ()).canonical
    plan = {"plan_text": text, "plan_fingerprint": fingerprint(text), "planned_by": "t"}
    Transition.objects.bulk_create(Transition(plugin=plugin, **plan) for _ in range(number))
    batch = {"number": 1, "cycle": 1, "attempt": 1, "direction": Direction.FORWARD, "requested_by": "t"}
    Execution.objects.bulk_create(
        Execution(transition=transition, executor_code="dry-run:v1", **batch)
        for transition in Transition.objects.filter(plugin=plugin)
    )
    executions = Execution.objects.filter(transition__plugin=plugin).order_by("pk")
    OutboxCommand.objects.bulk_create(OutboxCommand(execution=execution) for execution in executions)
    return list(OutboxCommand.objects.filter(execution__transition__plugin=plugin).order_by("pk"))


@dataclass(frozen=True)
class Kind:
    """A leased model, how to make waiting rows of it, and one of its terminal statuses."""

    model: type[Leased]
    make: Callable[[int], list[Any]]
    ended_as: str

    def __str__(self) -> str:
        return self.model.__name__

    @property
    def waiting_as(self) -> str:
        return self.model.lease_states.waiting[0]

    @property
    def leased_as(self) -> str:
        return self.model.lease_states.leased

    def waiting(self, available_at: datetime = NOW, **values: Any) -> int:
        """The key of a row that waits until ``available_at``."""
        return self._put(status=self.waiting_as, available_at=available_at, **values)

    def leased(self, until: datetime, **values: Any) -> int:
        """The key of a row that another worker holds until ``until``."""
        lease = {"lease_token": uuid.uuid4(), "lease_owner": "other", "leased_at": NOW, "lease_until": until}
        return self._put(status=self.leased_as, **{"delivery_count": 1, **lease, **values})

    def ended(self) -> int:
        """The key of a row that is done with, and was due long ago."""
        return self._put(status=self.ended_as, available_at=NOW - timedelta(days=1))

    def _put(self, **values: Any) -> int:
        row = self.make(1)[0]
        self.model.objects.filter(pk=row.pk).update(**values)
        return row.pk

    def claim(self, *, now: datetime | None = NOW, **changes: Any) -> claims.ClaimResult:
        terms = {"owner": "w1", "limit": 10, "lease_seconds": 60, "max_deliveries": 10, **changes}
        return claims.claim(self.model, now=now, **terms)

    def claim_one(self, **changes: Any) -> Lease:
        answer = self.claim(**changes)
        assert isinstance(answer, claims.Claimed), answer
        (lease,) = answer.leases
        return lease

    def columns(self, pk: int) -> dict[str, Any]:
        """The whole row, as the database has it."""
        return self.model.objects.filter(pk=pk).values().get()


KINDS = [
    Kind(OutboxCommand, make_commands, ended_as="DELIVERED"),
]
