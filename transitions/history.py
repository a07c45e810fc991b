"""What has happened to a transition so far: what the state guard and the choice of steps are decided on."""

from dataclasses import dataclass

from transitions.models import Execution, StepReceipt, Transition
from transitions.states import Direction, ExecutionStatus, LastState, ReceiptStatus


@dataclass(frozen=True)
class History:
    """The executions of a transition, the latest cycle in detail. Two queries."""

    executions: list[Execution]
    receipts: list[StepReceipt]  # of the latest cycle, oldest first

    @classmethod
    def of(cls, transition: Transition) -> "History":
        """Read under the transition's lock where a decision hangs on it."""
        alias = transition._state.db
        executions = list(Execution.objects.using(alias).filter(transition=transition).order_by("number"))
        receipts: list[StepReceipt] = []
        if executions:
            rows = StepReceipt.objects.using(alias).select_related("execution")
            in_cycle = rows.filter(execution__transition=transition, execution__cycle=executions[-1].cycle)
            receipts = list(in_cycle.order_by("execution__number", "position"))
        return cls(executions, receipts)

    @property
    def count(self) -> int:
        return len(self.executions)

    @property
    def cycle(self) -> int:
        return self.executions[-1].cycle if self.executions else 0

    @property
    def attempt(self) -> int:
        return self.executions[-1].attempt if self.executions else 0

    @property
    def executor_code(self) -> str:
        """A retry or a compensation goes to the target that the cycle began with, whatever is configured since."""
        return self.executions[-1].executor_code

    @property
    def last_direction(self) -> Direction:
        return Direction(self.executions[-1].direction)

    @property
    def last_state(self) -> LastState:
        if not self.executions:
            return None
        return self.last_direction, ExecutionStatus(self.executions[-1].status)

    @property
    def left_undone(self) -> set[str]:
        """Steps of the last direction that have not succeeded in this cycle, in whichever attempt."""
        in_direction = [receipt for receipt in self.receipts if receipt.execution.direction == self.last_direction]
        return {r.step_key for r in in_direction} - {r.step_key for r in in_direction if _succeeded(r)}

    @property
    def to_undo(self) -> set[str]:
        """Forward steps that succeeded or may have happened."""
        return {key for key, r in self._latest(Direction.FORWARD).items() if _succeeded(r) or r.outcome_unknown}

    @property
    def in_doubt(self) -> set[str]:
        """Steps of the last direction that may have happened: nothing has decided it in any attempt."""
        return {key for key, receipt in self._latest(self.last_direction).items() if receipt.outcome_unknown}

    def _latest(self, direction: Direction) -> dict[str, StepReceipt]:
        """The latest receipt of each step; a retry's receipts begin with the doubts of those before them."""
        return {r.step_key: r for r in self.receipts if r.execution.direction == direction}


def _succeeded(receipt: StepReceipt) -> bool:
    return receipt.status == ReceiptStatus.SUCCEEDED
