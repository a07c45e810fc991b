"""Transitions in every state, reached as in production: by the services, the claim, and the coordinator's steps.

Only the executor is left out: it may not be called inside the transaction of a test.
"""

import json
from typing import Any

from outbox.held import HeldLease
from tests import factories
from tests.dying import held
from tests.factories import ManifestFactory, ReleaseFactory, StepFactory, TransitionFactory
from transitions import coordinator
from transitions.coordinator import Failure
from transitions.executors.base import TargetReceipt
from transitions.models import Execution, PluginRelease, StepReceipt, Transition

MARKUP = "<script>alert('x')</script>"
LONG_ERROR = f"OperationalError: {MARKUP} could not connect to " + "target-database.example.com/" * 40
LONG_LEASE = 3600.0


def step(number: int) -> dict[str, Any]:
    """A contribution whose title and payload hold markup."""
    return StepFactory(
        key=f"step-{number}",
        kind="sql",
        title=f"Title {number} {MARKUP}",
        forward={"statements": [f"CREATE TABLE t{number} (id int); -- {MARKUP}"], "number": number},
        reverse={"statements": [f"DROP TABLE t{number}"]},
    )


def with_steps(plugin: str, *, steps: int = 3, **values: Any) -> dict[str, Any]:
    """What the factories take for a plugin whose contributions are `step`."""
    contributions = [step(number) for number in range(1, steps + 1)]
    return {"plugin": plugin, "contributions": contributions, **values}


def manifest(plugin: str = "menu", **values: Any) -> bytes:
    """A manifest as a file."""
    return json.dumps(ManifestFactory(**with_steps(plugin, **values))).encode()


def imported(plugin: str = "menu", **values: Any) -> PluginRelease:
    """Not trusted."""
    return ReleaseFactory(trusted=False, **with_steps(plugin, **values))


def planned(plugin: str = "menu", **values: Any) -> Transition:
    """From nothing to a trusted 1.0.0."""
    return TransitionFactory(**with_steps(plugin, **values))


def queued(plugin: str = "menu") -> Execution:
    return factories.execute(planned(plugin))


def claimed(execution: Execution) -> HeldLease:
    """The lease of the one command that is claimable: make what is to stay claimable later."""
    lease = factories.claim_command(owner="worker-a", lease_seconds=LONG_LEASE)
    assert lease.pk == execution.command.pk
    return held(lease, lease_seconds=LONG_LEASE)


def processing(plugin: str = "menu") -> Execution:
    """The first step done, the second running."""
    execution = queued(plugin)
    _walk(claimed(execution), 1)
    return execution


def silent(plugin: str = "menu") -> Execution:
    """As `processing`, and the lease has ended: make it after all that is to be claimed."""
    execution = processing(plugin)
    factories.let_lease_end(execution)
    return execution


def succeeded(plugin: str = "menu") -> Execution:
    return completed(queued(plugin))


def failed(plugin: str = "menu", *, unknown: bool = False) -> Execution:
    """One step done, the second failed."""
    execution = queued(plugin)
    lease = claimed(execution)
    coordinator.fail(lease, _walk(lease, 1), Failure("executor_error", LONG_ERROR, outcome_unknown=unknown))
    return execution


def postponed(plugin: str = "menu", *, after: float = 900) -> Execution:
    execution = queued(plugin)
    lease = claimed(execution)
    coordinator.postpone(lease, _walk(lease, 1), after=after, error="RetryLater: the target is in maintenance")
    return execution


def compensated(plugin: str = "menu") -> Execution:
    return completed(factories.compensate(succeeded(plugin).transition))


def every_state() -> dict[str, Execution]:
    """One batch in each state that the pages tell apart, each of a plugin of its own."""
    ended = {"succeeded": succeeded, "failed": failed, "compensated": compensated}
    open_ones = {"processing": processing, "later": postponed, "silent": silent, "waiting": queued}
    return {name: make(name) for name, make in {**ended, **open_ones}.items()}


def completed(execution: Execution) -> Execution:
    lease = claimed(execution)
    for receipt in coordinator.begin(lease).receipts:
        _finish(lease, receipt)
    coordinator.complete(lease)
    return execution


def _walk(lease: HeldLease, done: int) -> StepReceipt:
    """Finish ``done`` steps and start the next; returns the receipt of that one."""
    receipts = coordinator.begin(lease).receipts
    for receipt in receipts[:done]:
        _finish(lease, receipt)
    coordinator.start_step(lease, receipts[done])
    return receipts[done]


def _finish(lease: HeldLease, receipt: StepReceipt) -> None:
    coordinator.start_step(lease, receipt)
    target = TargetReceipt(target_id=f"target:{receipt.step_key}", fingerprint="f" * 64, details={"rows": 1})
    coordinator.finish_step(lease, receipt, target)
