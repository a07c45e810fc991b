"""A lane: one kind of leased row, how one lease of it is delivered, and how much of it a worker takes on."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from outbox import conf
from outbox.held import HeldLease
from outbox.leases import Lease, Leased


@dataclass(frozen=True, kw_only=True)
class LaneOptions:
    """How a worker serves a lane. Times are in seconds."""

    batch_size: int
    poll_interval_seconds: float
    lease_seconds: float
    renew_seconds: float
    concurrency: int
    max_deliveries: int
    deadline_seconds: float

    @classmethod
    def from_settings(cls) -> "LaneOptions":
        return cls(**{name: conf.number(name.upper()) for name in cls.__dataclass_fields__})


class Lane(ABC):
    """What the worker needs to know of a kind of work. One instance serves all threads."""

    name: ClassVar[str]
    model: type[Leased]

    def enabled(self) -> bool:
        """Whether this deployment wants the lane served."""
        return True

    def options(self) -> LaneOptions:
        return LaneOptions.from_settings()

    @abstractmethod
    def deliver(self, held: HeldLease) -> str:
        """Do the work of one lease and settle or release it; returns the outcome for the log.

        Called outside any transaction. Raises `LeaseLost` where the lease was lost; whatever else it raises means that
        the outcome could not be recorded: the row is then left to the end of its lease.
        """

    @abstractmethod
    def exhaust(self, lease: Lease, max_deliveries: int) -> None:
        """Take out a row that was delivered ``max_deliveries`` times and never finished. Raises `LeaseLost`."""


_lanes: dict[str, Lane] = {}


def register(lane: Lane) -> None:
    """Make a lane known to the workers of this process, once, from ``AppConfig.ready``."""
    if lane.name in _lanes:
        raise ValueError(f"a lane named {lane.name!r} is registered already")
    _lanes[lane.name] = lane


def registered() -> dict[str, Lane]:
    """All lanes by name, in the order of registration."""
    return dict(_lanes)
