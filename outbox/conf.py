"""Options of the engine: typed and clamped, read from ``settings.OUTBOX`` each time they are asked for.

A number out of its bounds is clamped, a value that is no number is replaced by the default; `outbox.checks` reports
both, and the worker does not start on the second. `docs/configuration.md` explains each option.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings


@dataclass(frozen=True)
class Number:
    """A numeric option with its default and its operational bounds, both inclusive."""

    default: float
    lowest: float
    highest: float
    whole: bool = False

    def parse(self, given: Any) -> float:
        """The number as given. Raises `ValueError` for what is not a finite number (or not a whole one)."""
        if isinstance(given, bool):
            raise ValueError("a truth value")
        try:
            number = float(given)
        except OverflowError as error:  # a whole number that is larger than any float
            raise ValueError("too large") from error
        if not math.isfinite(number) or (self.whole and number != int(number)):
            raise ValueError("not finite, or not whole")
        return number

    def clamp(self, number: float) -> float:
        bounded = min(max(number, self.lowest), self.highest)
        return int(bounded) if self.whole else bounded

    @property
    def rule(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.lowest:g} to {self.highest:g}"


NUMBERS: Final[dict[str, Number]] = {
    "POLL_INTERVAL_SECONDS": Number(5, 0.05, 3600),
    "BATCH_SIZE": Number(5, 1, 1000, whole=True),
    "LEASE_SECONDS": Number(60, 1, 86400),
    "RENEW_SECONDS": Number(20, 0.1, 28800),
    "CONCURRENCY": Number(1, 1, 64, whole=True),
    "MAX_DELIVERIES": Number(10, 1, 1000, whole=True),
    "MAX_STEP_ATTEMPTS": Number(25, 1, 10000, whole=True),
    "DEADLINE_SECONDS": Number(3600, 1, 604800),
    "SHUTDOWN_SECONDS": Number(30, 0, 3600),
}
LARGEST_LEASE_SHARE: Final = 1 / 3  # a lease outlives two renewals that fail


@dataclass(frozen=True)
class Misfit:
    """An option whose given value is not the one in force."""

    name: str
    given: Any
    in_force: float
    rule: str
    is_number: bool


def given() -> dict[str, Any]:
    """``settings.OUTBOX`` as the project wrote it."""
    return getattr(settings, "OUTBOX", {})


def number(name: str) -> Any:
    """The value in force of a numeric option."""
    if name == "RENEW_SECONDS" and name not in given():
        return number("LEASE_SECONDS") * LARGEST_LEASE_SHARE
    option = NUMBERS[name]
    try:
        parsed = option.parse(given().get(name, option.default))
    except (TypeError, ValueError):
        return option.clamp(option.default)
    return option.clamp(parsed)


def misfits() -> Iterator[Misfit]:
    """Every numeric option that was clamped or could not be read."""
    for name in NUMBERS.keys() & given().keys():
        value, option = given()[name], NUMBERS[name]
        try:
            is_number, fits = True, option.parse(value) == number(name)
        except (TypeError, ValueError):
            is_number, fits = False, False
        if not fits:
            yield Misfit(name, value, number(name), option.rule, is_number)


def polling_enabled() -> bool:
    """Whether workers of this deployment serve the command lane."""
    return bool(given().get("POLLING_ENABLED", True))


def executor_code() -> str:
    """The executor that new batches are queued for."""
    return str(given().get("EXECUTOR_CODE", "dry-run:v1"))


def skip_locked() -> bool:
    """Whether claims use SKIP LOCKED where the database has it. Correctness does not depend on it."""
    return bool(given().get("SKIP_LOCKED", True))
