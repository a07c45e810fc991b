"""A worker that dies in the middle of a walk, without a process: what it committed stays, nothing follows."""

import time

from outbox.held import HeldLease, StopRequest
from outbox.leases import Lease
from tests import factories
from transitions import coordinator
from transitions.executors.base import TargetReceipt
from transitions.models import Execution


def held(lease: Lease, *, lease_seconds: float = 60) -> HeldLease:
    """The lease in the hands of this process, as the worker holds it."""
    return HeldLease(
        lease,
        lease_seconds=lease_seconds,
        renew_seconds=lease_seconds / 3,
        claimed_at=time.monotonic(),
        stop=StopRequest(),
    )


def die_in_step(execution: Execution, *, position: int) -> HeldLease:
    """Claim, begin, finish the steps before ``position``, start that one, and write nothing more."""
    hands = held(factories.claim_command())
    batch = coordinator.begin(hands)
    assert batch.execution.pk == execution.pk
    for receipt in batch.receipts[: position - 1]:
        coordinator.start_step(hands, receipt)
        answer = TargetReceipt(target_id="before", fingerprint="f")
        coordinator.finish_step(hands, receipt, answer)
    coordinator.start_step(hands, batch.receipts[position - 1])
    return hands
