"""``manage.py prepare_target``: makes the table of receipts, once, and says so."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from tests.together import together
from tests.transitions import targets
from tests.transitions.targets import VENDOR, both_databases
from transitions.executors.sql.target import TABLE, ReceiptRow, prepare

pytestmark = both_databases


def prepare_target() -> str:
    out = StringIO()
    call_command("prepare_target", stdout=out)
    return out.getvalue()


def test_it_makes_the_table_and_says_so(bare_target):
    assert prepare_target() == f"target ({VENDOR}): made table {TABLE}\n"
    assert ReceiptRow.objects.using("target").count() == 0


def test_a_second_time_it_changes_nothing_and_says_so(sql_target):
    assert prepare_target() == f"target ({VENDOR}): nothing to do, it has table {TABLE}\n"


def test_several_at_once_all_succeed_and_one_has_made_it(bare_target):
    answers = together(*[prepare] * 4)
    assert sorted(answers, key=str) == [False, False, False, True]


def test_another_table_of_that_name_is_refused(bare_target):
    targets.do(f"CREATE TABLE {TABLE} (idempotency_key varchar(64))")
    with pytest.raises(CommandError, match="has no column done_at, fingerprint"):
        prepare_target()


def test_without_a_target_it_names_the_variable(monkeypatch):
    monkeypatch.delitem(connections.settings, "target")
    with pytest.raises(CommandError, match="set TARGET_DATABASE_URL"):
        prepare_target()


def test_keys_are_compared_byte_by_byte(sql_target):
    values = {"step": "s", "fingerprint": "f", "statements": 0}
    from transitions.executors.sql import target

    for key in ("key", "KEY", "kéy", "key "):
        target.insert(key, **values)
    assert ReceiptRow.objects.using("target").count() == 4


def test_the_table_is_no_model_of_any_app():
    call_command("makemigrations", "--check", "--dry-run", stdout=StringIO())
