"""Claim, renew, settle, release, expire: the only writer of lease columns.

The conditional update decides; SKIP LOCKED only keeps workers out of each other's way (the same code runs without it).
Every function states its time with the database's clock; tests inject ``now``.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import DatabaseError, connections, router, transaction
from django.db.models import F
from django.db.models.functions import Least

from outbox.barriers import reach
from outbox.clock import moment, moment_after
from outbox.conf import skip_locked
from outbox.conflicts import is_lost_race
from outbox.leases import Lease, Leased, LeaseLost


@dataclass(frozen=True)
class Claimed:
    """These rows are ours, oldest first, until their lease ends."""

    leases: list[Lease]


@dataclass(frozen=True)
class LostRace:
    """There was work, and others took it: look again at once."""


@dataclass(frozen=True)
class EmptyQueue:
    """There is nothing to claim now."""


ClaimResult = Claimed | LostRace | EmptyQueue


def claim(
    model: type[Leased],
    *,
    owner: str,
    limit: int,
    lease_seconds: float,
    max_deliveries: int,
    using: str | None = None,
    now: datetime | None = None,
) -> ClaimResult:
    """Take up to ``limit`` claimable rows in one short transaction of its own.

    A row that was already delivered ``max_deliveries`` times comes with a higher ``delivery_count``: it is to be taken
    out, not delivered. Its count is raised no further, however often that fails.
    """
    alias = using or router.db_for_write(model)
    try:
        with transaction.atomic(using=alias, durable=True):
            candidates = _candidates(model, alias, limit, now)
            if not candidates:
                return EmptyQueue()
            values = {
                "lease_owner": owner[:100],
                "lease_until": moment_after(lease_seconds, now),
                "delivery_count": Least(F("delivery_count") + 1, max_deliveries + 1),
            }
            leases = _take(model, alias, candidates, values, now)
    except DatabaseError as error:
        if is_lost_race(error):
            return LostRace()
        raise
    return Claimed(leases) if leases else LostRace()


def _candidates(model: type[Leased], alias: str, limit: int, now: datetime | None) -> list[int]:
    """The row whose lease ended first, alone; without one, due rows in order. Each range is read along its own index.

    Alone, since its last worker may have died of it: rows that are claimed together with what kills workers would be
    lost with it each time, and reach their delivery limit without ever being delivered.
    """
    rows = model.objects.using(alias)
    if skip_locked() and connections[alias].features.has_select_for_update_skip_locked:
        rows = rows.select_for_update(skip_locked=True)
    expired = rows.expired(now).order_by("lease_until").values_list("pk", flat=True)[:1]
    due = rows.due(now).order_by("available_at", "pk").values_list("pk", flat=True)[:limit]
    return list(expired) or list(due)


def _take(
    model: type[Leased], alias: str, candidates: list[int], values: dict[str, Any], now: datetime | None
) -> list[Lease]:
    reach("after_poll")
    token = uuid.uuid4()
    rows = model.objects.using(alias).filter(pk__in=candidates)
    rows.claimable(now).update(status=model.lease_states.leased, lease_token=token, leased_at=moment(now), **values)
    taken = dict(rows.filter(lease_token=token).values_list("pk", "delivery_count"))
    owner = values["lease_owner"]
    return [Lease(model, pk, token, owner, taken[pk], alias) for pk in candidates if pk in taken]


def renew(lease: Lease, *, lease_seconds: float, now: datetime | None = None) -> None:
    """Move the end of the lease to ``lease_seconds`` from now.

    As the first statement of a transaction its row lock fences everything that follows. Raises `LeaseLost`.
    """
    _write_held(lease, lease_until=moment_after(lease_seconds, now))


def settle_held(lease: Lease, *, status: str, **values: Any) -> None:
    """End the row in a terminal status, by primary key and token. Raises `LeaseLost`, and then wrote nothing."""
    states = lease.model.lease_states
    if status in (*states.waiting, states.leased):
        raise ValueError(f"{status} is not a terminal status of {lease.model._meta.label}")
    _write_held(lease, status=status, lease_token=None, lease_until=None, **values)


def release_held(lease: Lease, *, available_in: float | None = None, **values: Any) -> None:
    """Hand the row back in order: claimable at once, or ``available_in`` seconds from now.

    The delivery did not die, so its count is given back. Raises `LeaseLost`, and then wrote nothing.
    """
    if available_in is not None:
        values["available_at"] = moment_after(available_in)
    waiting = lease.model.lease_states.waiting[0]
    values |= {"status": waiting, "lease_token": None, "lease_until": None}
    _write_held(lease, delivery_count=F("delivery_count") - 1, **values)


def expire(model: type[Leased], pk: int, *, using: str, now: datetime | None = None) -> bool:
    """Put a row whose lease has ended back to waiting; False (and nothing written) if it is not such a row."""
    expired = model.objects.using(using).filter(pk=pk).expired(now)
    values = {"status": model.lease_states.waiting[0], "lease_token": None, "lease_until": None}
    return bool(expired.update(**values, available_at=moment(now)))


def _write_held(lease: Lease, **values: Any) -> None:
    if not lease.model.objects.using(lease.using).held_by(lease).update(**values):
        raise LeaseLost(lease)
