"""RB-20: whatever an executor raises ends its step and nothing else; only a signal stops the process."""

import pytest

from outbox.worker import ExitCode
from tests import factories
from tests.factories import drain
from transitions.models import OutboxCommand

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("checked")]


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit(5)


def recurse(request: object) -> None:
    # With its argument: a call that relies on defaults or ``*args`` is not counted by Python 3.13.0, and never ends.
    recurse(request)


def raising(error: BaseException):
    def outcome(*_: object) -> None:
        raise error

    return outcome


@pytest.mark.parametrize(
    ("outcome", "name"),
    [
        (raising(SystemExit(3)), "SystemExit"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raising(GeneratorExit()), "GeneratorExit"),
        (raising(MemoryError()), "MemoryError"),
        (raising(StopIteration()), "StopIteration"),
        (recurse, "RecursionError"),
        (raising(Unreadable()), "Unreadable"),
        (raising(Unspeakable()), "Unspeakable"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rb_20_the_step_fails_by_name_and_the_worker_goes_on(target, outcome, name):
    failing = factories.queue_execution(steps=1)
    healthy = factories.queue_execution(steps=1)
    calls = iter([outcome, lambda request: None])
    target.script("step-1", lambda request: next(calls)(request))  # noqa: PLW0108  (one a call)
    assert drain() is ExitCode.STOPPED
    receipt = failing.receipts.get()
    assert (receipt.status, receipt.error_code) == ("FAILED", "unexpected_error")
    assert receipt.error.startswith(f"{name}: ")
    healthy.refresh_from_db()
    assert healthy.status == "SUCCEEDED"
    assert not OutboxCommand.objects.filter(status="PROCESSING").exists()
