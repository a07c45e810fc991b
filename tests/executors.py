"""Executors that do what a test tells them to, and a ledger of every call that no rollback can hide.

Everything lives in one folder, named by the environment, so that worker processes which a test starts share it:
``ledger.jsonl`` is appended to with O_APPEND and fsync, ``script.json`` says what each step does.
"""

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from transitions.executors.base import (
    Executor,
    OutcomeUnknown,
    Permanent,
    Recovery,
    RetryLater,
    StepRequest,
    TargetReceipt,
    register,
)

FOLDER_VARIABLE = "OUTBOX_TEST_FOLDER"

Outcome = Callable[[StepRequest], None] | tuple[Any, ...]


def _raise(error: BaseException) -> None:
    raise error


# What a script can say of one call, as JSON; a test in this process can also give a callable.
OUTCOMES: dict[str, Callable[..., Any]] = {
    "succeed": lambda: None,
    "permanent": lambda text="no": _raise(Permanent(text)),
    "retry_later": lambda after=0.0, text="busy": _raise(RetryLater(text, after=after)),
    "unknown": lambda text="lost the answer": _raise(OutcomeUnknown(text)),
    "error": lambda text="boom": _raise(RuntimeError(text)),
    "exit": lambda code=3: _raise(SystemExit(code)),
    "sleep": time.sleep,
    "sleep_then_fail": lambda seconds: (time.sleep(seconds), _raise(Permanent("too late"))),
    "die": lambda code=137: os._exit(code),
}


@dataclass
class Call:
    """One call of an executor; ``ended`` is None if its process died in it."""

    step: str
    key: str
    direction: str
    attempt: int
    previous: str
    what: str  # run or probe
    pid: int
    started: float
    ended: float | None = None
    outcome: str = ""


class Target:
    """What the test sees of the fake target: the script, the calls, and the effects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ledger = folder / "ledger.jsonl"
        self._script = folder / "script.json"
        self._callables: dict[str, list[Outcome]] = {}

    def script(self, step: str, *outcomes: Outcome, direction: str = "forward") -> None:
        """What the calls of a step (of that direction) do, first to last; the last outcome holds for all that follow.

        An outcome is a tuple such as ``("sleep", 2)`` or ``("permanent", "no such table")``, or a callable. It comes
        before the effect, and an error of it means that there is none; ``("after", …)`` comes after the effect.
        """
        name = f"{direction} {step}"
        if any(callable(outcome) for outcome in outcomes):
            self._callables[name] = list(outcomes)
        else:
            self._callables.pop(name, None)
            self._script.write_text(json.dumps({**self._scripted(), name: outcomes}))

    def outcome(self, request: StepRequest, call_number: int) -> Outcome:
        name = f"{request.direction} {step_name(request.step_key)}"
        outcomes = self._callables.get(name) or self._scripted().get(name) or [("succeed",)]
        outcome = outcomes[min(call_number, len(outcomes)) - 1]
        return outcome if callable(outcome) else tuple(outcome)

    def _scripted(self) -> dict[str, Any]:
        return json.loads(self._script.read_text()) if self._script.exists() else {}

    # --- The ledger

    def write(self, **line: Any) -> None:
        data = (json.dumps({"pid": os.getpid(), "at": time.time(), **line}) + "\n").encode()
        descriptor = os.open(self._ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._ledger.read_text().splitlines()] if self._ledger.exists() else []

    @property
    def calls(self) -> list[Call]:
        """Every call, in the order in which they began."""
        calls: dict[str, Call] = {}
        for line in self.lines():
            if line["event"] == "start":
                told = {name: line[name] for name in ("step", "key", "direction", "attempt", "previous", "what", "pid")}
                calls[line["call"]] = Call(**told, started=line["at"])
            elif line["event"] == "end":
                calls[line["call"]].ended, calls[line["call"]].outcome = line["at"], line["outcome"]
        return list(calls.values())

    @property
    def runs(self) -> list[str]:
        """The steps that were run, in order: ``step-1``, and ``undo step-1`` in reverse."""
        return [("undo " if c.direction == "reverse" else "") + c.step for c in self.calls if c.what == "run"]

    @property
    def effects(self) -> list[str]:
        """The keys under which the target was changed, one for each change."""
        return [line["key"] for line in self.lines() if line["event"] == "effect"]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Between all threads and processes."""
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def step_name(step_key: str) -> str:
    return step_key.partition(":")[2]


_target: Target | None = None


def use_folder(folder: Path) -> Target:
    """The target of this process, and (by the environment) of those that it starts."""
    global _target  # noqa: PLW0603
    os.environ[FOLDER_VARIABLE] = str(folder)
    _target = Target(folder)
    return _target


def leave_folder() -> None:
    global _target  # noqa: PLW0603
    os.environ.pop(FOLDER_VARIABLE, None)
    _target = None


def current_target() -> Target:
    if _target is None:
        return use_folder(Path(os.environ[FOLDER_VARIABLE]))
    return _target


class ScriptedExecutor(Executor):
    """Does what the script of the target says, and writes each call into the ledger, start and end."""

    idempotent: ClassVar[bool] = True  # whether a second call under the same key changes nothing

    def run(self, request: StepRequest) -> TargetReceipt:
        target = current_target()
        with self._recorded(target, request, "run"):
            number = sum(call.key == request.key and call.what == "run" for call in target.calls)
            match target.outcome(request, number):
                case ("after", name, *arguments):
                    self._change(target, request)
                    OUTCOMES[name](*arguments)
                case (name, *arguments):
                    OUTCOMES[name](*arguments)
                    self._change(target, request)
                case outcome:
                    outcome(request)  # type: ignore[operator]
                    self._change(target, request)
        return _receipt(request)

    def probe(self, request: StepRequest) -> TargetReceipt | None:
        target = current_target()
        with self._recorded(target, request, "probe"):
            return _receipt(request) if request.key in target.effects else None

    def _change(self, target: Target, request: StepRequest) -> None:
        with target.locked():
            if not (self.idempotent and request.key in target.effects):
                target.write(event="effect", key=request.key)

    @contextmanager
    def _recorded(self, target: Target, request: StepRequest, what: str) -> Iterator[None]:
        call = f"{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}"
        told = {"key": request.key, "direction": request.direction, "attempt": request.attempt}
        previous = str(request.previous_outcome)
        target.write(event="start", call=call, what=what, step=step_name(request.step_key), previous=previous, **told)
        outcome = "returned"
        try:
            yield
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            target.write(event="end", call=call, outcome=outcome)


def _receipt(request: StepRequest) -> TargetReceipt:
    return TargetReceipt(target_id=f"t-{request.key[:16]}", fingerprint=request.key[:32], details={"n": 1})


class Keyed(ScriptedExecutor):
    """Recovers by running again; the target deduplicates by key."""

    code = "test-keyed:v1"
    recovery = Recovery.KEYED


class Probing(ScriptedExecutor):
    """Recovers by looking the key up; the target would do everything twice."""

    code = "test-probe:v1"
    recovery = Recovery.PROBE
    idempotent = False


class Helpless(ScriptedExecutor):
    """Can't recover; the target would do everything twice."""

    code = "test-none:v1"
    recovery = Recovery.NONE
    idempotent = False


class Naive(ScriptedExecutor):
    """Claims that its target deduplicates, which is not so: its effects count the calls."""

    code = "test-naive:v1"
    recovery = Recovery.KEYED
    idempotent = False


for _executor in (Keyed(), Probing(), Helpless(), Naive()):
    register(_executor)
