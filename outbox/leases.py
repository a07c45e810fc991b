"""What a lease is: the columns of a leased row, who may claim it, and the value that proves a claim."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import models
from django.db.models import Q

from outbox.clock import DatabaseNow, moment
from outbox.fields import KeyField


@dataclass(frozen=True)
class LeaseStates:
    """Which statuses of a model wait for a worker, and which one a worker holds. All others are terminal."""

    waiting: tuple[str, ...]
    leased: str

    def due(self, now: datetime | None = None) -> Q:
        return Q(status__in=self.waiting, available_at__lte=moment(now))

    def expired(self, now: datetime | None = None) -> Q:
        # Strictly before: at the very instant of lease_until the holder may still write and nobody may claim.
        return Q(status=self.leased, lease_until__lt=moment(now))

    def claimable(self, now: datetime | None = None) -> Q:
        """The one predicate that decides who may claim a row. Recovery is part of it: there is no reaper."""
        return self.due(now) | self.expired(now)


@dataclass(frozen=True)
class Lease:
    """One claim of one row. The token is the authority: a write that does not match it changes nothing."""

    model: type["Leased"]
    pk: int
    token: UUID
    owner: str
    delivery_count: int
    using: str

    def __str__(self) -> str:
        return f"{self.model._meta.label}:{self.pk}"


class LeaseLost(Exception):
    """The row is no longer held under this lease. Nothing was written by the call that raised it."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        super().__init__(f"{lease} is no longer leased under token {lease.token}")


class LeasedQuerySet(models.QuerySet[Any]):
    """The adjectives of leased rows."""

    model: type["Leased"]  # type: ignore[assignment]  # narrower than the base class, and that is the point

    def due(self, now: datetime | None = None) -> Self:
        return self.filter(self.model.lease_states.due(now))

    def expired(self, now: datetime | None = None) -> Self:
        return self.filter(self.model.lease_states.expired(now))

    def claimable(self, now: datetime | None = None) -> Self:
        return self.filter(self.model.lease_states.claimable(now))

    def held_by(self, lease: Lease) -> Self:
        return self.filter(pk=lease.pk, lease_token=lease.token, status=self.model.lease_states.leased)


class Leased(models.Model):
    """A row that one worker at a time works on. Only `outbox.claims` writes the columns below."""

    lease_states: ClassVar[LeaseStates]

    status = models.CharField(max_length=20)  # each model declares it again, with its own choices and default
    available_at = models.DateTimeField(db_default=DatabaseNow(), help_text="not before this instant (database clock)")
    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_owner = KeyField(max_length=100, blank=True, default="", help_text="the worker that holds or held the row")
    leased_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    delivery_count = models.PositiveIntegerField(default=0, help_text="claims that were not handed back in order")
    last_error = models.TextField(blank=True, default="")

    objects: ClassVar[Any] = LeasedQuerySet.as_manager()

    class Meta:
        abstract = True


def lease_constraints(name: str, states: LeaseStates) -> list[models.BaseConstraint]:
    """A leased row has a token and an end, any other row has neither: no row can hide from the claim."""
    held = Q(status=states.leased, lease_token__isnull=False, leased_at__isnull=False, lease_until__isnull=False)
    free = ~Q(status=states.leased) & Q(lease_token__isnull=True, lease_until__isnull=True)
    return [models.CheckConstraint(condition=held | free, name=f"{name}_lease_is_whole")]


def lease_indexes(name: str) -> list[models.Index]:
    """What the claim reads: waiting rows in the order they became due, leased rows by the end of their lease."""
    return [
        models.Index(fields=["status", "available_at", "id"], name=f"{name}_due"),
        models.Index(fields=["status", "lease_until"], name=f"{name}_expired"),
    ]
