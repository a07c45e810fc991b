"""The plan of a transition: its steps, its canonical form, its fingerprint, and the keys of its steps (pure)."""

import dataclasses
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from transitions.canonical import canonical_json, fingerprint
from transitions.errors import ImpossiblePlan, NoReverse
from transitions.manifests import Contribution, Manifest
from transitions.states import Direction


class Action(StrEnum):
    """What a step does, in forward direction, with its contribution."""

    APPLY = "apply"  # run its forward payload
    REMOVE = "remove"  # run its reverse payload


@dataclass(frozen=True)
class PlanStep:
    """One step: which contribution of which release, and the fingerprint of both its payloads."""

    key: str
    action: Action
    kind: str
    release: str
    contribution: str
    contribution_fingerprint: str
    reversible: bool


@dataclass(frozen=True)
class Plan:
    """An ordered list of steps that leads from one release (or none) to another (or none). Immutable."""

    plugin: str
    from_release: str | None
    to_release: str | None
    steps: tuple[PlanStep, ...]

    @property
    def canonical(self) -> str:
        """The text that is stored and fingerprinted."""
        return canonical_json(json.loads(json.dumps(dataclasses.asdict(self))))

    @classmethod
    def from_canonical(cls, text: str) -> "Plan":
        data = json.loads(text)
        steps = tuple(PlanStep(**{**step, "action": Action(step["action"])}) for step in data.pop("steps"))
        return cls(**data, steps=steps)


def build_plan(plugin: str, current: Manifest | None, wanted: Manifest | None) -> Plan:
    """The plan from ``current`` to ``wanted``: removals in reverse order, then additions in order.

    Contributions are identities: what stands unchanged in both is not touched, and one whose content changed needs a
    key of its own. Raises `ImpossiblePlan` for that, `NoReverse` for a removal that can't be done.
    """
    old = {contribution.key: contribution for contribution in current.contributions} if current else {}
    new = {contribution.key: contribution for contribution in wanted.contributions} if wanted else {}
    for key in old.keys() & new.keys():
        if old[key].fingerprint != new[key].fingerprint:
            raise ImpossiblePlan(f"contribution {key!r} differs between the releases: new content needs a new key")
    removed = [_step(old[key], current, Action.REMOVE) for key in reversed(old) if key not in new]
    added = [_step(new[key], wanted, Action.APPLY) for key in new if key not in old]
    versions = (current.version if current else None, wanted.version if wanted else None)
    return Plan(plugin, *versions, steps=(*removed, *added))


def _step(contribution: Contribution, manifest: Manifest | None, action: Action) -> PlanStep:
    assert manifest is not None  # noqa: S101  (a contribution has a manifest)
    if action is Action.REMOVE and contribution.reverse is None:
        raise NoReverse(f"contribution {contribution.key!r} of {manifest.version} has no reverse: it can't be removed")
    return PlanStep(
        key=f"{action}:{contribution.key}",
        action=action,
        kind=contribution.kind,
        release=manifest.version,
        contribution=contribution.key,
        contribution_fingerprint=contribution.fingerprint,
        # Undoing a removal runs the forward payload, which every contribution has.
        reversible=action is Action.REMOVE or contribution.reverse is not None,
    )


def payload_of(step: PlanStep, contribution: Contribution, direction: Direction) -> dict[str, Any]:
    """The payload to run for a step in a direction. Raises `NoReverse` naming the step."""
    forward = (step.action is Action.APPLY) == (direction == Direction.FORWARD)
    payload = contribution.forward if forward else contribution.reverse
    if payload is None:
        raise NoReverse(f"step {step.key!r} has no reverse payload: it can't be undone")
    return payload


def idempotency_key(transition_uid: str, plan_fingerprint: str, cycle: int, direction: Direction, step_key: str) -> str:
    """The key under which a target knows a step. Attempts and deliveries never change it; a new cycle does."""
    return fingerprint(canonical_json([transition_uid, plan_fingerprint, cycle, str(direction), step_key]))
