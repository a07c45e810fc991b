"""One lane in one worker: what it has claimed, what it delivers now, and when it looks again."""

import random
import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from functools import partial

import structlog
from django.db import DatabaseError, InterfaceError, connections, router

from outbox import claims
from outbox.barriers import reach
from outbox.connections import backoff_seconds, close_unfit, persist
from outbox.held import HeldLease, StopRequest
from outbox.keeper import Keeper
from outbox.lanes import Lane, LaneOptions
from outbox.leases import Lease, LeaseLost
from outbox.slots import Slots

log = structlog.get_logger(__name__)

_HAND_BACK_SECONDS = 1.0  # worth one new connection; what is not handed back is claimable when its lease ends


class Until(Enum):
    """How long a worker works."""

    STOPPED = "stopped"  # until a stop is requested
    DRAINED = "drained"  # until nothing is claimable
    CLAIMED_ONCE = "once"  # one claim a lane


class LaneRunner:
    """Claims what it can start, starts it, and hands back what it claimed and could not start."""

    def __init__(
        self,
        lane: Lane,
        options: LaneOptions,
        *,
        owner: str,
        until: Until,
        stop: StopRequest,
        keeper: Keeper,
        wake: Callable[[], None],
    ) -> None:
        self.lane = lane
        self.options = options
        self.finished = False  # nothing more will be claimed; what is started may still run
        self._owner = owner
        self._until = until
        self._stop = stop
        self._wake = wake
        self._alias = router.db_for_write(lane.model)
        self._keeper = keeper
        self._slots = Slots(options.concurrency, name=lane.name, deliver=self._deliver, freed=self._slot_freed)
        self._claimed: deque[HeldLease] = deque()
        self._claimed_at = 0.0
        self._next_claim_at = 0.0
        self._failures = 0

    @property
    def busy(self) -> int:
        """Deliveries under way."""
        return self._slots.busy

    @property
    def idle(self) -> bool:
        return not self._claimed and not self._slots.busy

    def start(self) -> None:
        self._slots.start()

    def end(self) -> None:
        """Let the threads go."""
        self._slots.end()

    def turn(self) -> float:
        """Do what can be done now; returns the seconds after which there may be more to do."""
        if self._slots.free and not self._claimed and not self.finished and time.monotonic() >= self._next_claim_at:
            self._claim()
        while self._claimed and self._slots.free:
            self._start(self._claimed.popleft())
        if self._claimed and time.monotonic() >= self._claimed_at + self.options.renew_seconds:
            # The slots are taken by long work: rows that only wait here could be delivered elsewhere.
            self.hand_back("no free slot")
        if self.finished or not self._slots.free:
            return self.options.renew_seconds
        return max(0.0, self._next_claim_at - time.monotonic())

    def hand_back(self, why: str) -> None:
        """Release what is claimed and not started: claimable at once, delivery count given back."""
        while self._claimed:
            held = self._claimed.popleft()
            self._keeper.drop(held)
            try:
                release = partial(claims.release_held, held.lease)
                persist(release, using=self._alias, seconds=lambda: _HAND_BACK_SECONDS)
                log.info("lease_handed_back", lease=str(held.lease), why=why)
            except (LeaseLost, DatabaseError, InterfaceError) as error:
                log.warning("lease_not_handed_back", lease=str(held.lease), error=str(error))

    def _claim(self) -> None:
        claimed_at = time.monotonic()
        try:
            answer = self._ask()
        except (DatabaseError, InterfaceError) as error:
            self._back_off(error)
            return
        self._failures = 0
        if self._until is Until.CLAIMED_ONCE and not isinstance(answer, claims.LostRace):
            self.finished = True
        match answer:
            case claims.Claimed(leases):
                self._hold(leases, claimed_at)
            case claims.LostRace():
                self._next_claim_at = time.monotonic() + random.uniform(0, 0.02)  # noqa: S311
            case claims.EmptyQueue():
                self._look_again_later()

    def _ask(self) -> claims.ClaimResult:
        close_unfit()
        answer = claims.claim(
            self.lane.model,
            owner=self._owner,
            limit=self.options.batch_size,
            lease_seconds=self.options.lease_seconds,
            max_deliveries=self.options.max_deliveries,
            using=self._alias,
        )
        if isinstance(answer, claims.Claimed):
            reach("after_claim_commit")
        return answer

    def _hold(self, leases: list[Lease], claimed_at: float) -> None:
        terms = {"lease_seconds": self.options.lease_seconds, "renew_seconds": self.options.renew_seconds}
        self._claimed.extend(HeldLease(lease, **terms, claimed_at=claimed_at, stop=self._stop) for lease in leases)
        self._claimed_at = claimed_at
        self._keeper.keep(self._claimed)
        log.info("claimed", lane=self.lane.name, count=len(leases), leases=[str(lease) for lease in leases])

    def _look_again_later(self) -> None:
        if self._until is Until.DRAINED and self.idle:
            self.finished = True
        self._next_claim_at = time.monotonic() + self.options.poll_interval_seconds

    def _back_off(self, error: Exception) -> None:
        if self._until is not Until.STOPPED:
            raise error
        self._failures += 1
        pause = backoff_seconds(self._failures)
        log.error("database_unavailable", lane=self.lane.name, retry_in=round(pause, 1), error=str(error).strip())
        connections[self._alias].close()
        self._next_claim_at = time.monotonic() + pause

    def _start(self, held: HeldLease) -> None:
        held.start_delivery(self.options.deadline_seconds)
        self._slots.submit(held)

    def _deliver(self, held: HeldLease) -> None:
        """In a slot's thread: deliver one lease, log how it ended, leave the thread fit for the next."""
        lease = held.lease
        started = time.monotonic()
        try:
            outcome = self._outcome(held)
            seconds = round(time.monotonic() - started, 3)
            log.info("delivered", lease=str(lease), delivery=lease.delivery_count, outcome=outcome, seconds=seconds)
        except LeaseLost:
            log.warning("lease_lost", lease=str(lease), owner=lease.owner, token=str(lease.token))
        except BaseException:
            # Not the work failed but recording it: the row stays as it is, and the end of the lease makes it claimable.
            log.exception("outcome_not_recorded", lease=str(lease))
        finally:
            self._keeper.drop(held)
            close_unfit()

    def _outcome(self, held: HeldLease) -> str:
        held.check()
        if held.lease.delivery_count > self.options.max_deliveries:
            take_out = partial(self.lane.exhaust, held.lease, self.options.max_deliveries)
            persist(take_out, using=self._alias, seconds=lambda: held.seconds_sure)
            return "exhausted"
        return self.lane.deliver(held)

    def _slot_freed(self) -> None:
        self._next_claim_at = 0.0
        self._wake()
