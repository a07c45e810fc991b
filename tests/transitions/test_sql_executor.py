"""``sql:v1`` on a real target: one effect and one receipt a key, whatever happens."""

import pytest
from django.db import OperationalError, connections

from tests import factories
from tests.together import together
from tests.transitions import targets
from tests.transitions.targets import (
    VENDOR,
    both_databases,
    only_sqlite,
    only_where_ddl_rolls_back,
    request,
    rows,
    tables,
)
from transitions.canonical import canonical_json
from transitions.errors import InvalidPayload
from transitions.executors.base import OutcomeUnknown, PreviousOutcome, get_executor
from transitions.executors.sql import transaction as sql_transaction
from transitions.executors.sql.executor import Sql
from transitions.executors.sql.step import KeyConflict, SqlStep, StatementFailed
from transitions.executors.sql.target import TABLE, ReceiptRow, TargetNotPrepared

pytestmark = both_databases

CREATE = "CREATE TABLE thing (id integer NOT NULL PRIMARY KEY, name varchar(50))"
INSERT = "INSERT INTO thing (id, name) VALUES (1, '50% off; ''quoted''')"


@pytest.fixture
def thing(sql_target):
    """A table in the target, as some earlier step made it."""
    targets.do(CREATE)


def run(*statements, **changes):
    return Sql().run(request(*statements, **changes))


# --- What it does


def test_the_worker_finds_it_by_its_code():
    assert isinstance(get_executor("sql:v1"), Sql)


def test_statements_and_receipt_are_in_the_target(sql_target):
    receipt = run(CREATE, INSERT)
    assert rows("SELECT id, name FROM thing") == [(1, "50% off; 'quoted'")]
    row = ReceiptRow.objects.using("target").get()
    assert (row.pk, row.state, row.progress, row.statements) == ("a" * 64, "done", 2, 2)
    assert receipt.target_id == f"{TABLE}/{'a' * 64}"
    assert receipt.fingerprint == row.fingerprint
    assert receipt.details == {"statements": 2, "done_at": row.done_at.isoformat()}


def test_the_same_key_again_returns_the_same_receipt_and_changes_nothing(thing):
    first = run(INSERT)
    assert run(INSERT) == first
    assert run(INSERT, attempt=7, previous_outcome=PreviousOutcome.UNKNOWN) == first
    assert rows("SELECT count(*) FROM thing") == [(1,)]


def test_another_key_is_another_step(thing):
    one, other = run(INSERT), run("DELETE FROM thing", key="b" * 64)
    assert one.fingerprint != other.fingerprint
    assert rows("SELECT count(*) FROM thing") == [(0,)]


def test_the_same_key_with_other_statements_fails(thing):
    run(INSERT)
    with pytest.raises(KeyConflict, match="other statements"):
        run("DELETE FROM thing")
    assert rows("SELECT count(*) FROM thing") == [(1,)]


def test_no_statement_at_all_is_a_step_with_a_receipt(sql_target):
    assert run().details["statements"] == 0


@pytest.mark.parametrize("statements", [[INSERT.replace("thing", "other")], [CREATE, INSERT]], ids=["dml", "ddl"])
def test_ten_at_once_with_one_key_are_one_effect_and_one_receipt(sql_target, statements):
    targets.do(CREATE.replace("thing", "other"))
    receipts = together(*[lambda: run(*statements)] * 10)
    assert receipts == [receipts[0]] * 10, receipts
    table = "thing" if len(statements) > 1 else "other"
    assert rows(f"SELECT count(*) FROM {table}") == [(1,)]
    assert ReceiptRow.objects.using("target").count() == 1


def test_different_keys_at_once_all_land(thing):
    calls = [lambda n=n: run(INSERT.replace("(1,", f"({n},"), key=f"{n:064}") for n in range(8)]
    assert {answer.details["statements"] for answer in together(*calls)} == {1}
    assert rows("SELECT count(*) FROM thing") == [(8,)]


# --- Failures


@only_where_ddl_rolls_back
def test_a_failure_in_the_middle_names_its_statement_and_leaves_nothing(sql_target):
    with pytest.raises(StatementFailed, match=r"statement 3 of 4 \(INSERT INTO nowhere .*nowhere"):
        run(CREATE, INSERT, "INSERT INTO nowhere (id) VALUES (1)", INSERT)
    assert tables() == set()
    assert not ReceiptRow.objects.using("target").exists()


def test_plain_dml_that_fails_leaves_nothing_on_any_database(thing):
    with pytest.raises(StatementFailed, match="statement 2 of 2"):
        run(INSERT, INSERT)
    assert rows("SELECT count(*) FROM thing") == [(0,)]
    assert not ReceiptRow.objects.using("target").exists()


def test_after_a_failure_the_same_key_can_succeed(thing):
    targets.do(INSERT)
    with pytest.raises(StatementFailed):
        run(INSERT)
    targets.do("DELETE FROM thing")
    assert run(INSERT, previous_outcome=PreviousOutcome.FAILED).details["statements"] == 1


def test_a_huge_statement_does_not_make_a_huge_error(sql_target):
    with pytest.raises(StatementFailed) as failed:
        run(f"INSERT INTO nowhere (id) VALUES ('{'ü' * 100_000}')")
    assert len(str(failed.value)) < 3000


@pytest.mark.skipif(VENDOR == "mysql", reason="MySQL and MariaDB check each statement and defer nothing")
def test_a_missing_parent_is_found_before_the_commit(sql_target):
    targets.do(CREATE)
    child = "CREATE TABLE child (id integer, thing_id integer REFERENCES thing (id) DEFERRABLE INITIALLY DEFERRED)"
    with pytest.raises(StatementFailed, match="after the last statement"):
        run(child, "INSERT INTO child VALUES (1, 99)")
    assert tables() == {"thing"}


def test_without_its_table_of_receipts_nothing_is_run_and_the_command_is_named(bare_target):
    with pytest.raises(TargetNotPrepared, match=r"manage\.py prepare_target"):
        run(CREATE)
    assert tables() == set()


@pytest.mark.skipif(VENDOR != "postgresql", reason="kills its own session by SQL, as only PostgreSQL can")
def test_a_connection_that_breaks_before_the_commit_is_replaced_and_the_step_runs_once(thing):
    targets.do("CREATE SEQUENCE tries")  # counts beyond a rollback
    kill_once = "SELECT CASE WHEN nextval('tries') = 1 THEN pg_terminate_backend(pg_backend_pid()) END"
    assert run(INSERT, kill_once).details["statements"] == 2
    assert rows("SELECT count(*), (SELECT last_value FROM tries) FROM thing") == [(1, 2)]
    targets.do("DROP SEQUENCE tries")


@pytest.fixture
def commit(monkeypatch):
    """Says what the next COMMIT of the target does, instead of what it should."""
    wrapper = type(connections["target"])
    real, scripted = wrapper._commit, []

    def commit(connection):
        if connection.alias != "target" or not scripted:
            return real(connection)
        if scripted.pop(0) == "lands and its answer is lost":
            real(connection)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(wrapper, "_commit", commit)
    return scripted


@pytest.mark.parametrize("what_happens", ["lands and its answer is lost", "is lost"])
def test_a_connection_that_breaks_at_the_commit_is_replaced_and_the_key_tells_what_happened(
    thing, commit, what_happens
):
    commit.append(what_happens)
    receipt = run(INSERT)
    assert rows("SELECT count(*) FROM thing") == [(1,)]
    assert run(INSERT) == receipt


def test_if_the_target_can_not_be_asked_after_the_commit_the_outcome_is_unknown(thing, commit, monkeypatch):
    def refuse(*arguments):
        raise OperationalError("connection refused")

    commit.append("lands and its answer is lost")
    monkeypatch.setattr(sql_transaction, "RECONNECT_SECONDS", 0.3)
    monkeypatch.setattr(SqlStep, "find_row", lambda step, real=SqlStep.find_row: refuse() if not commit else real(step))
    with pytest.raises(OutcomeUnknown, match="broke at COMMIT"):
        run(INSERT)


@pytest.mark.skipif(VENDOR != "postgresql", reason="SQLite and MySQL have no setting that could stay behind like this")
def test_what_a_step_sets_for_its_session_ends_with_it(sql_target):
    run("SET search_path TO pg_catalog", "SELECT 1")
    run(CREATE, key="b" * 64)
    assert tables() == {"thing"}


@only_sqlite
def test_a_table_can_be_remade_under_the_rows_that_refer_to_it(thing):
    targets.do(INSERT, "CREATE TABLE child (thing_id integer REFERENCES thing (id) ON DELETE CASCADE)")
    targets.do("INSERT INTO child VALUES (1)")
    remade = CREATE.replace("thing", "new__thing")
    run(
        remade,
        "INSERT INTO new__thing SELECT * FROM thing",
        "DROP TABLE thing",
        "ALTER TABLE new__thing RENAME TO thing",
    )
    assert rows("SELECT * FROM child") == [(1,)]
    assert rows("PRAGMA foreign_keys") == [(1,)]


# --- What is refused before anything is queued


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "menu"}, "kind: .*'menu'"),
        ({"payload": {}}, r"payload\.vendor: Field required"),
        ({"payload": {"vendor": "oracle", "statements": []}}, r"payload\.vendor: Input should be 'sqlite'"),
        ({"payload": {"vendor": VENDOR, "statements": "SELECT 1"}}, r"payload\.statements: .*list"),
        ({"payload": {"vendor": VENDOR, "statements": [1]}}, r"payload\.statements\.0: .*string"),
        ({"payload": {"vendor": VENDOR, "statements": [], "more": 1}}, r"payload\.more: Extra"),
        ({"payload": {"vendor": VENDOR, "statements": ["SELECT 1", " -- no\n"]}}, "number 2 holds no SQL"),
        ({"payload": {"vendor": VENDOR, "statements": ["SELECT 1; SELECT 2"]}}, "number 1 holds more than one"),
        ({"payload": {"vendor": VENDOR, "statements": ["commit"]}}, "number 1 COMMIT is not allowed"),
    ],
)
def test_a_payload_that_can_not_be_run_is_refused_by_field_and_rule(changes, message):
    asked = request(**changes)
    with pytest.raises(InvalidPayload, match=message):
        Sql().check_payload(asked.kind, asked.payload)


def test_sql_for_another_vendor_is_refused():
    other = "sqlite" if VENDOR != "sqlite" else "mysql"
    with pytest.raises(InvalidPayload, match=f"payload.vendor: the SQL is for {other}, and the target is {VENDOR}"):
        Sql().check_payload("sql", {"vendor": other, "statements": []})


def test_without_a_target_the_variable_is_named(monkeypatch):
    monkeypatch.delitem(connections.settings, "target")
    with pytest.raises(InvalidPayload, match="TARGET_DATABASE_URL"):
        Sql().check_payload("sql", {"vendor": VENDOR, "statements": []})


# --- With the real worker


def install(*contributions):
    manifest = {"plugin": "thing", "version": "1", "contributions": [step(n, *c) for n, c in enumerate(contributions)]}
    return targets.plan(canonical_json(manifest).encode())


def step(number, forward, reverse):
    payloads = [{"vendor": VENDOR, "statements": statements} for statements in (forward, reverse)]
    return {"key": f"c{number}", "kind": "sql", "forward": payloads[0], "reverse": payloads[1]}


def test_a_batch_fails_is_repaired_retried_and_compensated(sql_target):
    transition = install(([CREATE], ["DROP TABLE thing"]), ([INSERT], ["DELETE FROM thing WHERE id = 1"]))
    first = factories.execute(transition, executor="sql:v1")
    targets.do(CREATE)  # somebody was there before
    assert targets.run(first).status == "FAILED"
    assert "statement 1 of 1 (CREATE TABLE thing" in targets.errors(first)[0]
    targets.do("DROP TABLE thing")
    again = targets.run(factories.retry(transition))
    assert [status for _, status, _ in targets.statuses(again)] == ["SUCCEEDED", "SUCCEEDED"]
    assert rows("SELECT count(*) FROM thing") == [(1,)]
    assert targets.run(factories.compensate(transition)).status == "SUCCEEDED"
    assert tables() == set()
