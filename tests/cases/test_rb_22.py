"""RB-22: a NUL character is refused where data comes in, and made visible where an error is recorded."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.factories import ManifestFactory, StepFactory, drain
from transitions.errors import InvalidManifest
from transitions.executors.base import Permanent, RetryLater, TargetReceipt, get_executor
from transitions.models import OutboxCommand
from transitions.releases import import_release


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("forward", "path"),
    [
        ({"text": "a\x00b"}, r"\$\.contributions\[0\]\.forward\.text"),
        ({"deep": [{"text": "\x00"}]}, r"\$\.contributions\[0\]\.forward\.deep\[0\]\.text"),
        ({"k\x00": 1}, r"\$\.contributions\[0\]\.forward key 'k\\x00'"),
    ],
    ids=["value", "nested value", "key"],
)
def test_rb_22_a_nul_in_a_manifest_is_refused_with_its_path_before_any_sql(forward, path):
    content = json.dumps(ManifestFactory(contributions=[StepFactory(forward=forward)])).encode()
    with CaptureQueriesContext(connection) as queries, pytest.raises(InvalidManifest, match=f"{path}: .*NUL"):
        import_release(content=content, file_name="m.json", imported_by="olga")
    assert len(queries) == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize(
    ("text", "shown"), [("a\x00b", "a␀b"), ("a\ud800b", "a\\ud800b"), ("emoji 😀 𠀀", "emoji 😀 𠀀")]
)
def test_rb_22_an_error_text_is_recorded_visibly_and_the_worker_goes_on(target, text, shown):
    def fail(request):
        raise RuntimeError(text)

    calls = iter([fail, lambda request: None])
    target.script("step-1", lambda request: next(calls)(request))  # noqa: PLW0108  (one a call)
    failing, healthy = (factories.queue_execution(steps=1) for _ in range(2))
    drain()
    assert failing.receipts.get().error == f"RuntimeError: {shown}"
    assert OutboxCommand.objects.get(execution=failing).last_error == f"RuntimeError: {shown}"
    healthy.refresh_from_db()
    assert healthy.status == "SUCCEEDED"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("bad", [{"target_id": "a\x00"}, {"details": {"k": "\x00"}}, {"fingerprint": "f" * 201}])
def test_rb_22_a_receipt_that_could_not_be_stored_fails_the_step_in_the_executors_own_code(
    target, queued_execution, monkeypatch, bad
):
    good = {"target_id": "t", "fingerprint": "f"}
    executor = get_executor("test-keyed:v1")
    monkeypatch.setattr(executor, "run", lambda request: TargetReceipt(**{**good, **bad}))
    drain()
    receipt = queued_execution.receipts.get(position=1)
    assert (receipt.status, receipt.error_code) == ("FAILED", "unexpected_error")


@pytest.mark.django_db
def test_rb_22_a_nul_in_a_manifest_in_toml_is_refused_as_in_json():
    content = b"""plugin = "p"
version = "1"
[[contributions]]
key = "c"
kind = "test"
forward = {text = "a\\u0000b"}
"""
    with CaptureQueriesContext(connection) as queries, pytest.raises(InvalidManifest, match=r"forward\.text: .*NUL"):
        import_release(content=content, file_name="m.toml", imported_by="olga")
    assert len(queries) == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize(("code", "shown"), [("a\x00b", "a␀b"), ("a\ud800b", "a\\ud800b"), ("é" * 99, "é" * 50)])
def test_rb_22_an_executors_own_code_is_recorded_visibly_as_well(target, queued_execution, code, shown):
    class Refused(Permanent):
        pass

    Refused.code = code

    def refuse(request):
        raise Refused("no")

    target.script("step-1", refuse)
    drain()
    receipt = queued_execution.receipts.get(position=1)
    assert (receipt.status, receipt.error_code) == ("FAILED", shown)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("after", [0, -1, float("nan")])
def test_rb_22_a_request_to_try_later_is_recorded_whatever_its_text_and_time(target, queued_execution, after):
    def busy(request):
        raise RetryLater("a\x00\ud800b", after=after)

    calls = iter([busy, lambda request: None])
    target.script("step-1", lambda request: next(calls)(request))  # noqa: PLW0108  (one a call)
    drain()
    queued_execution.refresh_from_db()
    assert queued_execution.status == "SUCCEEDED"
    assert queued_execution.receipts.get(position=1).attempts == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("checked")
def test_rb_22_a_receipt_that_changes_after_it_was_checked_is_stored_as_it_was(target, queued_execution, monkeypatch):
    def run(request):
        details = {"rows": 1}
        receipt = TargetReceipt(target_id="t", fingerprint="f", details=details)
        details["text"] = "\x00"
        return receipt

    monkeypatch.setattr(get_executor("test-keyed:v1"), "run", run)
    drain()
    queued_execution.refresh_from_db()
    assert queued_execution.status == "SUCCEEDED"
    assert {receipt.target_details for receipt in queued_execution.receipts.all()} == {'{"rows":1}'}
