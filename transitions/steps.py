"""One step: what is asked of the executor, and what its answer, or the lack of one, means."""

from dataclasses import dataclass
from typing import Any, Final

from outbox.barriers import reach
from outbox.connections import assert_no_transaction, close_unfit
from outbox.error_text import describe_error, storable
from transitions.coordinator import Failure
from transitions.executors.base import (
    Executor,
    OutcomeUnknown,
    Permanent,
    PreviousOutcome,
    Recovery,
    RetryLater,
    StepRequest,
    TargetReceipt,
)
from transitions.models import Execution, StepReceipt

MAX_CODE_LENGTH: Final = 50


@dataclass(frozen=True)
class Done:
    """The step happened, now or before, and this is the target's receipt."""

    receipt: TargetReceipt

    def __str__(self) -> str:
        return f"done as {self.receipt.target_id}"


@dataclass(frozen=True)
class Postponed:
    """Nothing happened; to be tried again."""

    after: float
    error: str

    def __str__(self) -> str:
        return f"postponed for {self.after:g} s: {self.error}"


@dataclass(frozen=True)
class Failed:
    """The attempt ends here."""

    failure: Failure

    def __str__(self) -> str:
        return f"failed ({self.failure.code}): {self.failure.error.splitlines()[0][:200]}"


StepOutcome = Done | Postponed | Failed


def request_for(execution: Execution, receipt: StepReceipt, payload: dict[str, Any]) -> StepRequest:
    """The request for the run that ``receipt`` stands for.

    The first run of a retry follows a failure, even if that left a doubt: the person who asked for it has decided.
    """
    previous = PreviousOutcome.FAILED if execution.attempt > 1 else PreviousOutcome.NONE
    decided = execution.attempt > 1 and receipt.attempts == 0
    return StepRequest(
        key=receipt.idempotency_key,
        kind=receipt.kind,
        direction=execution.direction,
        step_key=receipt.step_key,
        payload=payload,
        attempt=receipt.attempts + 1,
        previous_outcome=PreviousOutcome.UNKNOWN if receipt.outcome_unknown and not decided else previous,
    )


def run_step(executor: Executor, request: StepRequest, *, in_doubt: bool) -> StepOutcome:
    """Call the executor outside any transaction; whatever it raises is an outcome. Raises `InsideTransaction`.

    ``in_doubt``: an earlier run, in whichever attempt, may have happened.
    """
    assert_no_transaction()
    reach("inside_executor")
    try:
        receipt = _answer(executor, request)
    except RetryLater as error:
        return Postponed(error.after, describe_error(error))
    except BaseException as error:  # signals reach the main thread only: here even SystemExit is the executor's
        return Failed(_failure(error, in_doubt))
    finally:
        reach("after_executor_before_receipt")
        close_unfit()
    return Done(receipt)


def _failure(error: BaseException, in_doubt: bool) -> Failure:
    """What an executor's error says. Only `Permanent` decides that an earlier run did not happen either."""
    if isinstance(error, Permanent):
        code = storable(str(error.code))[:MAX_CODE_LENGTH]
        return Failure(code, describe_error(error), outcome_unknown=isinstance(error, OutcomeUnknown))
    return Failure("unexpected_error", describe_error(error), outcome_unknown=in_doubt)


def _answer(executor: Executor, request: StepRequest) -> TargetReceipt:
    """The target's receipt, reached in the way that the executor's recovery allows."""
    if request.previous_outcome is PreviousOutcome.UNKNOWN and executor.recovery is Recovery.NONE:
        raise OutcomeUnknown("an earlier run of this step may have happened, and its executor can't find out")
    receipt = None
    if request.previous_outcome is not PreviousOutcome.NONE and executor.recovery is Recovery.PROBE:
        receipt = executor.probe(request)
    if receipt is None:
        receipt = executor.run(request)
    if not isinstance(receipt, TargetReceipt):
        raise OutcomeUnknown(f"the executor returned {type(receipt).__name__} and not a TargetReceipt")
    return receipt
