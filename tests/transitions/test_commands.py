"""The commands of an operator without a browser: the same services, as text and as JSON."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.factories import ManifestFactory, compensate, drain

pytestmark = pytest.mark.django_db


def run(*arguments: object) -> str:
    out = StringIO()
    call_command(*(str(argument) for argument in arguments), stdout=out)
    return out.getvalue()


def run_json(*arguments: object) -> dict:
    return json.loads(run(*arguments, "--json"))


@pytest.fixture
def manifest_file(tmp_path):
    file = tmp_path / "page-block.json"
    file.write_text(json.dumps(ManifestFactory(plugin="page-block", steps=2)))
    return file


def test_from_a_file_to_a_queued_batch(target, manifest_file):
    imported = run_json("import_release", manifest_file, "--by", "olga")
    assert imported["created"]
    assert imported["contributions"] == ["step-1", "step-2"]
    trusted = run_json("trust_release", "page-block", "1.0.0", "--by", "olga")
    assert trusted["trusted_by"] == "olga"
    planned = run_json("plan_transition", "page-block", "--to", "1.0.0")
    assert [step["key"] for step in planned["steps"]] == ["apply:step-1", "apply:step-2"]
    queued = run_json("execute_transition", planned["transition"], "--by", "olga")
    assert (queued["status"], queued["command"]["status"], queued["requested_by"]) == ("QUEUED", "PENDING", "olga")
    assert [receipt["status"] for receipt in queued["receipts"]] == ["PENDING", "PENDING"]
    assert target.calls == []


def test_importing_the_same_file_twice_says_so(manifest_file):
    run("import_release", manifest_file)
    assert "was imported before" in run("import_release", manifest_file)


def test_a_refusal_is_an_error_with_its_code_and_nothing_else(manifest_file):
    run("import_release", manifest_file)
    with pytest.raises(CommandError, match=r"untrusted: release page-block 1\.0\.0 is not trusted"):
        run("plan_transition", "page-block", "--to", "1.0.0")


def test_a_refusal_with_json_is_told_on_both_streams():
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("show_execution", "99", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"error": "refused", "message": "there is no execution 99"}


@pytest.mark.parametrize("file", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path, file):
    with pytest.raises(CommandError, match="invalid_manifest"):
        run("import_release", tmp_path / file)


def test_a_name_that_would_not_fit_is_refused_before_anything_is_done(manifest_file):
    with pytest.raises(CommandError, match="1 to 150 characters"):
        run("import_release", manifest_file, "--by", "x" * 151)


@pytest.mark.django_db(transaction=True)
def test_show_tells_what_each_step_did(succeeded_execution):
    text = run("show_execution", succeeded_execution.pk)
    assert "SUCCEEDED" in text
    assert "command DELIVERED, deliveries: 1" in text
    assert "apply:step-3" in text


@pytest.mark.django_db(transaction=True)
def test_show_tells_why_a_batch_failed(failed_execution):
    text = run("show_execution", failed_execution.pk)
    assert "last error: Permanent: no such table" in text
    assert "permanent | Permanent: no such table" in text


@pytest.mark.django_db(transaction=True)
def test_retry_queues_what_is_left(failed_execution):
    queued = run_json("retry_transition", failed_execution.transition_id)
    assert [receipt["step_key"] for receipt in queued["receipts"]] == ["apply:step-2", "apply:step-3"]
    assert queued["attempt"] == 2


@pytest.mark.django_db(transaction=True)
def test_compensate_queues_the_undoing_in_reverse(failed_execution):
    queued = run_json("compensate_transition", failed_execution.transition_id)
    assert [receipt["step_key"] for receipt in queued["receipts"]] == ["apply:step-1"]
    assert queued["direction"] == "reverse"


@pytest.mark.django_db(transaction=True)
def test_reconcile_tells_what_it_found(expired_execution):
    assert run_json("reconcile_execution", expired_execution.pk)["result"] == "recovered"
    assert "already_waiting: " in run("reconcile_execution", expired_execution.pk)
    drain()
    assert run_json("reconcile_execution", expired_execution.pk)["result"] == "terminal"


@pytest.mark.django_db(transaction=True)
def test_show_tells_whose_lease_ended_when(expired_execution):
    assert "expired" in run("show_execution", expired_execution.pk)


@pytest.mark.django_db(transaction=True)
def test_a_compensated_transition_is_executed_in_a_new_cycle(succeeded_execution):
    compensate(succeeded_execution.transition)
    drain()
    again = run_json("execute_transition", succeeded_execution.transition_id)
    assert (again["cycle"], again["number"]) == (2, 3)
