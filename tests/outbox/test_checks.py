"""The checks of databases and of what is installed; those of single options are in ``tests/cases/test_rb_05``."""

import pytest
from django.core.checks import run_checks
from django.db import connection

from outbox.checks import check_databases, dangers
from outbox.lanes import LaneOptions


def ids(messages) -> list[str]:
    return [message.id for message in messages]


def options(**changes) -> LaneOptions:
    return LaneOptions(**{**vars(LaneOptions.from_settings()), **changes})


@pytest.mark.django_db
def test_the_project_as_it_is_has_nothing_to_report():
    assert [
        message for message in run_checks(databases=["default"]) if message.id.startswith(("outbox", "trans"))
    ] == []


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite has modes of transactions")
@pytest.mark.parametrize(("mode", "told"), [(None, ["outbox.E010"]), ("DEFERRED", ["outbox.E010"]), ("immediate", [])])
def test_sqlite_has_to_lock_where_a_transaction_begins(monkeypatch, mode, told):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "transaction_mode", mode)
    assert ids(check_databases(None, databases=["default"])) == told


def test_without_a_named_database_none_is_asked():
    assert check_databases(None, databases=None) == []


@pytest.mark.parametrize(
    ("changes", "shutdown_seconds", "told"),
    [
        ({"lease_seconds": 60, "renew_seconds": 20}, 30, []),
        ({"lease_seconds": 60, "renew_seconds": 21}, 30, ["outbox.E002"]),
        ({"lease_seconds": 60, "deadline_seconds": 60}, 30, []),
        ({"lease_seconds": 60, "deadline_seconds": 59}, 30, ["outbox.E003"]),
        ({"lease_seconds": 60}, 60, []),
        ({"lease_seconds": 60}, 61, ["outbox.W002"]),
        ({"lease_seconds": 9, "renew_seconds": 9, "deadline_seconds": 1}, 9, ["outbox.E002", "outbox.E003"]),
    ],
    ids=str,
)
def test_a_dangerous_combination_is_told_from_its_exact_bound_on(changes, shutdown_seconds, told):
    found = dangers(options(**changes), shutdown_seconds=shutdown_seconds)
    assert ids(found) == told
    assert all(message.hint for message in found)


def test_an_executor_that_nobody_registers_is_told_with_those_that_exist(settings):
    settings.OUTBOX = {**settings.OUTBOX, "EXECUTOR_CODE": "nobody:v1"}
    (found,) = [message for message in run_checks() if message.id == "transitions.E001"]
    assert "'nobody:v1'" in found.msg
    assert "dry-run:v1" in found.hint
