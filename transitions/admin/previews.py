"""What an operation would queue, without queueing it: decided by the service's own functions."""

from dataclasses import dataclass, field

from outbox.admin.formats import Part, readable
from transitions.errors import TransitionError
from transitions.history import History
from transitions.models import StepReceipt, Transition
from transitions.plans import PlanStep
from transitions.proposals import propose
from transitions.states import Direction, Operation, ReceiptStatus


@dataclass(frozen=True)
class PreviewStep:
    """One step of the batch to be, what it would run, and the receipt that it would reverse or try again."""

    step: PlanStep
    payload: list[Part]
    receipt: StepReceipt | None


@dataclass(frozen=True)
class Preview:
    """The batch to be; or, with a ``refusal``, why there would be none."""

    refusal: str | None = None
    direction: Direction | None = None
    executor_code: str = ""
    steps: list[PreviewStep] = field(default_factory=list)


def preview(operation: Operation, transition: Transition) -> Preview:
    """The batch that the operation would queue now. Never raises a `TransitionError`: it becomes the refusal."""
    try:
        proposal = propose(operation, transition)
    except TransitionError as error:
        return Preview(refusal=str(error))
    receipts = _runs(proposal.history)
    steps = [PreviewStep(each.step, readable(each.payload), receipts.get(each.step.key)) for each in proposal.steps]
    return Preview(None, proposal.direction, proposal.executor_code, steps)


def _runs(history: History) -> dict[str, StepReceipt]:
    """What is tried again or reversed is a run: a receipt that a later attempt never came to says nothing."""
    runs = {receipt.step_key: receipt for receipt in history.receipts if receipt.status != ReceiptStatus.PENDING}
    return latest_receipts(history) | runs


def latest_receipts(history: History) -> dict[str, StepReceipt]:
    """The newest receipt of each step in the latest cycle, whichever way the step went."""
    return {receipt.step_key: receipt for receipt in history.receipts}
