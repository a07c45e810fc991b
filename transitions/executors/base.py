"""The contract between the outbox and what changes a target: request, receipt, failures, executor, registry."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Final

from transitions.canonical import canonical_json
from transitions.errors import UnknownExecutor

MAX_DETAILS_LENGTH: Final = 64 * 1024


class Recovery(StrEnum):
    """How an executor copes with a step that may have happened already (its outcome was never recorded)."""

    PROBE = "probe"  # look the key up in the target and adopt its receipt; run only if it is absent
    KEYED = "keyed"  # the target deduplicates by key: run again with the same key
    NONE = "none"  # no safe way: the attempt fails as `outcome_unknown`, and a person decides


class PreviousOutcome(StrEnum):
    """What is known of earlier runs of a step."""

    NONE = "none"  # there was none, or the target said that it did nothing
    FAILED = "failed"  # an earlier attempt ended with a failure, and a person asked for this one
    UNKNOWN = "unknown"  # an earlier run may have happened


@dataclass(frozen=True, kw_only=True)
class StepRequest:
    """One step to be done. ``key`` is the same for every attempt and delivery: deduplicate by it."""

    key: str
    kind: str
    direction: str
    step_key: str
    payload: dict[str, Any]
    attempt: int
    previous_outcome: PreviousOutcome


@dataclass(frozen=True, kw_only=True)
class TargetReceipt:
    """The target's own proof that a step was done. Raises `InvalidValue` for what can't be stored and read back."""

    target_id: str
    fingerprint: str
    details: dict[str, Any] = field(default_factory=dict)
    details_text: str = field(init=False, repr=False)  # taken once: what was checked is what is stored

    def __post_init__(self) -> None:
        for name in ("target_id", "fingerprint"):
            value = getattr(self, name)
            canonical_json(value)
            if not isinstance(value, str) or len(value) > 200:
                raise ValueError(f"{name} must be a text of at most 200 characters")
        object.__setattr__(self, "details_text", canonical_json(self.details))
        if len(self.details_text) > MAX_DETAILS_LENGTH:
            raise ValueError(f"details: more than {MAX_DETAILS_LENGTH} characters as JSON")


class Permanent(Exception):
    """The step failed and did not happen, in this run or an earlier one; trying again by itself would not help.

    Any other exception ends the attempt as well, but decides nothing about earlier runs.
    """

    code = "permanent"


class OutcomeUnknown(Permanent):
    """The step may have happened, or a part of it, and the executor can't tell: a person decides."""

    code = "outcome_unknown"


class RetryLater(Exception):
    """This run did nothing and a later one may: try the step again after ``after`` seconds, in the same attempt."""

    def __init__(self, message: str, *, after: float) -> None:
        # In this order NaN, which compares as false, becomes 0 as well.
        self.after = min(max(0.0, float(after)), 86_400.0)
        super().__init__(message)


class Executor(ABC):
    """Runs steps on one kind of target. One instance serves all threads of a process.

    ``run`` is called outside any transaction, at least once a step: several calls, even at the same time, may carry the
    same key, and all must end in one effect and the same receipt.
    """

    code: ClassVar[str]
    recovery: ClassVar[Recovery]

    def check_payload(self, kind: str, payload: dict[str, Any]) -> None:  # noqa: B027  (the default accepts all)
        """Raise `InvalidPayload` for a payload that ``run`` could not do. Called before anything is queued."""

    @abstractmethod
    def run(self, request: StepRequest) -> TargetReceipt:
        """Do the step, or find that it is done; returns the target's receipt.

        Raises `RetryLater` (nothing happened), `OutcomeUnknown` (it may have), or anything else (it failed).
        """

    def probe(self, request: StepRequest) -> TargetReceipt | None:
        """The receipt under ``request.key`` in the target; None if the step did not happen. For `Recovery.PROBE`."""
        raise NotImplementedError


_executors: dict[str, Executor] = {}


def register(executor: Executor) -> Executor:
    """Make an executor known to this process, from an app's ``outbox_executors`` module."""
    if executor.code in _executors:
        raise ValueError(f"an executor with code {executor.code!r} is registered already")
    _executors[executor.code] = executor
    return executor


def get_executor(code: str) -> Executor:
    """The executor of a code. Raises `UnknownExecutor`."""
    try:
        return _executors[code]
    except KeyError:
        known = ", ".join(sorted(_executors)) or "none"
        raise UnknownExecutor(f"no executor {code!r} is known to this process (known: {known})") from None


def executor_codes() -> list[str]:
    """The codes that `get_executor` answers to, sorted."""
    return sorted(_executors)
