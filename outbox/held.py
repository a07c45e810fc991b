"""A lease as its holder sees it: how long it may act on it by its own clock, and whether it was asked to stop."""

import time
from dataclasses import dataclass

from outbox.leases import Lease, LeaseLost


@dataclass
class StopRequest:
    """Shared by a worker and all that it runs; set once, by a signal or a test."""

    requested: bool = False


class HeldLease:
    """A lease in the hands of this process.

    The database decides who holds a row. This object only keeps a holder from *starting* something when it cannot be
    sure any more: its end is reckoned on the monotonic clock from before the claim or renewal was sent, so it is never
    later than the end that the database knows.
    """

    def __init__(
        self, lease: Lease, *, lease_seconds: float, renew_seconds: float, claimed_at: float, stop: StopRequest
    ) -> None:
        self.lease = lease
        self.lease_seconds = lease_seconds
        self._renew_seconds = renew_seconds
        self._deadline = float("inf")
        self._sure_until = claimed_at + lease_seconds
        self._stop = stop
        self._lost = False

    @property
    def stop_requested(self) -> bool:
        """Whether to hand the rest back after the step under way."""
        return self._stop.requested

    @property
    def seconds_sure(self) -> float:
        """How long this process may still act without asking the database; 0 once the lease is known to be lost."""
        return 0.0 if self._lost else max(0.0, self._sure_until - time.monotonic())

    @property
    def past_deadline(self) -> bool:
        """Whether the delivery has taken so long that it is renewed no more."""
        return time.monotonic() >= self._deadline

    @property
    def renewal_due(self) -> bool:
        """Whether the keeper, which looks twice in each renewal interval, should renew at this look."""
        since_renewal = self.lease_seconds - (self._sure_until - time.monotonic())
        return not self.past_deadline and since_renewal >= self._renew_seconds / 2

    def start_delivery(self, deadline_seconds: float) -> None:
        """The delivery begins; it is renewed for ``deadline_seconds`` and no longer."""
        self._deadline = time.monotonic() + deadline_seconds

    def renewed(self, sent_at: float) -> None:
        """The database moved the end of the lease in answer to a statement sent at ``sent_at`` (monotonic)."""
        self._sure_until = max(self._sure_until, sent_at + self.lease_seconds)

    def lose(self) -> None:
        """The database said that the row is no longer held under this lease."""
        self._lost = True

    def check(self) -> None:
        """Raise `LeaseLost` unless this process is sure to hold the lease at this moment."""
        if self.seconds_sure <= 0:
            raise LeaseLost(self.lease)
