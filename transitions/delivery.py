"""Deliver one command: the walk between the coordinator's transactions. Executors are called outside of them all."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, TypeVar

import structlog

from outbox import conf
from outbox.connections import persist
from outbox.error_text import storable
from outbox.held import HeldLease
from outbox.lanes import Lane
from outbox.leases import Lease
from transitions import contributions, coordinator
from transitions.coordinator import Batch, Failure
from transitions.errors import TransitionError, UnknownExecutor
from transitions.executors.base import Executor, get_executor
from transitions.models import OutboxCommand, StepReceipt
from transitions.plans import payload_of
from transitions.states import Direction, ReceiptStatus
from transitions.steps import Done, Failed, Postponed, StepOutcome, request_for, run_step

log = structlog.get_logger(__name__)

UNKNOWN_EXECUTOR_RETRY_SECONDS: Final = 60.0

Landed = TypeVar("Landed")


class CommandLane(Lane):
    """The lane of plugin transitions: one lease is one batch."""

    name: ClassVar[str] = "commands"
    model = OutboxCommand

    def enabled(self) -> bool:
        return conf.polling_enabled()

    def deliver(self, held: HeldLease) -> str:
        return Walk(held).run()

    def exhaust(self, lease: Lease, max_deliveries: int) -> None:
        coordinator.exhaust(lease, max_deliveries=max_deliveries)


@dataclass(frozen=True)
class Work:
    """A batch whose plan, payloads and executor were found and verified."""

    executor: Executor
    payloads: dict[str, dict[str, object]]


class Walk:
    """One delivery of one batch: begin, each step that is not done, end."""

    def __init__(self, held: HeldLease) -> None:
        self.held = held

    def run(self) -> str:
        """Walk to an end, and record it; returns how it ended. Raises `LeaseLost`, or why it could not be recorded."""
        batch = self._landed(partial(coordinator.begin, self.held))
        remaining = [receipt for receipt in batch.receipts if receipt.status != ReceiptStatus.SUCCEEDED]
        try:
            work = prepare(batch, remaining)
        except UnknownExecutor as error:
            return self._leave_to_a_newer_worker(error)
        except TransitionError as error:
            return self._fail_first(remaining, error)
        for position, receipt in enumerate(remaining):
            # Past its deadline the batch goes on as another delivery; each does at least one step.
            if self.held.stop_requested or (position and self.held.past_deadline):
                return self._hand_back()
            if (ending := self._step(batch, work, receipt)) is not None:
                return ending
        self._landed(partial(coordinator.complete, self.held))
        return "succeeded"

    def _step(self, batch: Batch, work: Work, receipt: StepReceipt) -> str | None:
        """Run one step and record its outcome; returns how the walk ended, None if it goes on."""
        self.held.check()
        self._landed(partial(coordinator.start_step, self.held, receipt))
        # The commit may have taken longer than the lease: without this look the step could start beside its next run.
        self.held.check()
        request = request_for(batch.execution, receipt, work.payloads[receipt.step_key])
        outcome = run_step(work.executor, request, in_doubt=receipt.outcome_unknown)
        told = {"execution": batch.execution.pk, "direction": request.direction, "step": request.step_key}
        log.info("step", **told, outcome=str(outcome))
        return self._record(receipt, outcome)

    def _record(self, receipt: StepReceipt, outcome: StepOutcome) -> str | None:
        match outcome:
            case Done(target):
                self._landed(partial(coordinator.finish_step, self.held, receipt, target))
                return None
            case Postponed(after, error) if receipt.attempts + 1 < conf.number("MAX_STEP_ATTEMPTS"):
                self._landed(partial(coordinator.postpone, self.held, receipt, after=after, error=error))
                return "postponed"
            case Postponed(_, error):
                return self._fail(receipt, Failure("attempts_exhausted", error, receipt.outcome_unknown))
            case Failed(failure):
                return self._fail(receipt, failure)

    def _fail_first(self, remaining: list[StepReceipt], error: TransitionError) -> str:
        """No step can run: the next one in order carries the reason, and may still have happened before."""
        first = remaining[0] if remaining else None
        unknown = first is not None and first.outcome_unknown
        return self._fail(first, Failure(error.code, storable(str(error)), outcome_unknown=unknown))

    def _fail(self, receipt: StepReceipt | None, failure: Failure) -> str:
        self._landed(partial(coordinator.fail, self.held, receipt, failure))
        return "failed"

    def _hand_back(self) -> str:
        self._landed(partial(coordinator.hand_back, self.held))
        return "handed_back"

    def _leave_to_a_newer_worker(self, error: UnknownExecutor) -> str:
        """During a deploy an older worker meets work that only a newer one knows: it is neither failed nor lost."""
        after = UNKNOWN_EXECUTOR_RETRY_SECONDS
        self._landed(partial(coordinator.hand_back, self.held, after=after, error=str(error)))
        return "unknown_executor"

    def _landed(self, write: Callable[[], Landed]) -> Landed:
        return persist(write, using=self.held.lease.using, seconds=lambda: self.held.seconds_sure)


def prepare(batch: Batch, remaining: list[StepReceipt]) -> Work:
    """Executor, plan and payloads, verified as at enqueue. No transaction. Raises `TransitionError`."""
    execution = batch.execution
    executor = get_executor(execution.executor_code)
    transition = execution.transition
    plan = contributions.verified_plan(transition)
    resolved = contributions.resolve(plan, plugin_id=transition.plugin_id, using=execution._state.db or "default")
    steps = {step.key: step for step in plan.steps}
    direction = Direction(execution.direction)
    payloads = {r.step_key: payload_of(steps[r.step_key], resolved[r.step_key], direction) for r in remaining}
    return Work(executor, payloads)
