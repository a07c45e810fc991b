"""RB-24: an error text of any size is recorded, cut at a character, and shown on a page of reasonable size."""

import pytest
from django.urls import reverse

from outbox.error_text import MAX_BYTES, describe_error, storable
from tests.factories import drain
from transitions.models import OutboxCommand

KB, MB = 1024, 1024 * 1024


def chain(length: int) -> Exception:
    error = Exception("the first cause")
    for number in range(length):
        later = Exception(f"{number} " + "x" * 100)
        later.__cause__ = error
        error = later
    return error


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("x" * 10 * KB),
        RuntimeError("y" * 5 * MB),
        RuntimeError("😀" * 5 * MB),
        chain(10_000),
        RuntimeError('"' * MB),
    ],
    ids=["10 KB", "5 MB", "20 MB", "10,000 causes", "1 MB of what HTML escapes"],
)
def test_rb_24_a_huge_error_is_recorded_and_its_page_can_be_read(target, queued_execution, admin_client, error):
    def fail(request):
        raise error

    target.script("step-1", fail)
    drain()
    receipt = queued_execution.receipts.get(position=1)
    assert receipt.status == "FAILED"
    assert receipt.attempts == 1
    assert 0 < len(receipt.error.encode()) <= MAX_BYTES
    assert OutboxCommand.objects.get().last_error == receipt.error
    page = admin_client.get(reverse("admin:transitions_execution_change", args=[queued_execution.pk]), secure=True)
    assert page.status_code == 200
    assert len(page.content) < 500 * KB


@pytest.mark.parametrize("padding", range(5))
def test_rb_24_a_text_is_cut_between_characters_and_says_how_long_it_was(padding):
    text = "x" * padding + "😀" * 20_000
    kept = storable(text)
    assert len(kept.encode()) <= MAX_BYTES
    assert kept.endswith(f" … [cut; {len(text)} characters in all]")
    assert set(kept.partition(" …")[0]) <= {"x", "😀"}


def test_rb_24_a_text_that_fits_is_kept_as_it_is():
    assert storable("x" * MAX_BYTES) == "x" * MAX_BYTES


def test_rb_24_the_first_causes_are_told():
    error = ValueError("no plan")
    error.__cause__ = KeyError("missing")
    assert describe_error(error) == "ValueError: no plan\ncaused by KeyError: 'missing'"


class Empty(Exception):
    """An error that is false."""

    def __len__(self) -> int:
        return 0


class Undecided(Exception):
    def __bool__(self) -> bool:
        raise RuntimeError("neither")


@pytest.mark.parametrize("cause", [Empty("why"), Undecided("why")], ids=["false", "neither true nor false"])
def test_rb_24_a_cause_is_told_whatever_its_truth_value(cause):
    error = ValueError("no plan")
    error.__cause__ = cause
    assert describe_error(error) == f"ValueError: no plan\ncaused by {type(cause).__name__}: why"
