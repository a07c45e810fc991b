"""What an operation would queue for a transition now: decided once, for the service and for the operator's preview."""

from dataclasses import dataclass
from typing import Any

from outbox import conf
from transitions import contributions
from transitions.errors import NotAllowed
from transitions.executors.base import get_executor
from transitions.history import History
from transitions.models import Transition
from transitions.plans import Plan, PlanStep, payload_of
from transitions.states import Direction, Operation, refusal


@dataclass(frozen=True)
class ProposedStep:
    """A step and the payload that it would run."""

    step: PlanStep
    payload: dict[str, Any]


@dataclass(frozen=True)
class Proposal:
    """The batch to be."""

    operation: Operation
    history: History
    direction: Direction
    executor_code: str
    steps: list[ProposedStep]


def refusal_now(operation: Operation, history: History) -> str | None:
    """Why the state guard refuses the operation; None where it does not."""
    return refusal(operation, history.last_state, anything_to_undo=bool(history.to_undo))


def propose(operation: Operation, transition: Transition) -> Proposal:
    """Verify the plan, apply the state guard, resolve every trusted contribution, ask the executor: in this order.

    Reads only; binding under the transition's row lock. Raises `PlanChanged`, `NotAllowed`, `UntrustedContribution`,
    `ContributionChanged`, `NoReverse`, `UnknownExecutor` or `InvalidPayload`.
    """
    plan = contributions.verified_plan(transition)
    history = History.of(transition)
    if (reason := refusal_now(operation, history)) is not None:
        raise NotAllowed(f"can't {operation} this transition: {reason}")
    direction, steps = _work(operation, history, plan)
    executor_code = conf.executor_code() if operation is Operation.EXECUTE else history.executor_code
    proposed = _resolve(transition, plan, steps, direction)
    executor = get_executor(executor_code)
    for each in proposed:
        executor.check_payload(each.step.kind, each.payload)
    return Proposal(operation, history, direction, executor_code, proposed)


def _work(operation: Operation, history: History, plan: Plan) -> tuple[Direction, list[PlanStep]]:
    """Which way, and which steps in which order."""
    if operation is Operation.EXECUTE:
        return Direction.FORWARD, list(plan.steps)
    if operation is Operation.COMPENSATE:
        return Direction.REVERSE, [step for step in reversed(plan.steps) if step.key in history.to_undo]
    direction = history.last_direction
    steps = plan.steps if direction == Direction.FORWARD else reversed(plan.steps)
    return direction, [step for step in steps if step.key in history.left_undone]


def _resolve(transition: Transition, plan: Plan, steps: list[PlanStep], direction: Direction) -> list[ProposedStep]:
    """The whole plan is resolved, also where only a part of it is run: a plan is trusted whole."""
    resolved = contributions.resolve(plan, plugin_id=transition.plugin_id, using=transition._state.db or "default")
    return [ProposedStep(step, payload_of(step, resolved[step.key], direction)) for step in steps]
