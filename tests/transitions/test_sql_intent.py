"""``sql:v1`` where DDL commits by itself: never twice by itself, and what is known is said."""

import pytest

from tests import factories
from tests.together import Background, elsewhere
from tests.transitions import targets
from tests.transitions.targets import both_databases, only_where_ddl_commits, request, rows, tables
from tests.waiting import wait_until
from transitions.canonical import canonical_json
from transitions.executors.base import OutcomeUnknown, PreviousOutcome, RetryLater
from transitions.executors.sql import intent as sql_intent
from transitions.executors.sql.executor import Sql
from transitions.executors.sql.step import SqlStep, StatementFailed
from transitions.executors.sql.target import ReceiptRow

pytestmark = [both_databases, only_where_ddl_commits]

ONE, TWO, THREE = (f"CREATE TABLE t{number} (id integer PRIMARY KEY)" for number in (1, 2, 3))
INSERT = "INSERT INTO t1 VALUES (5)"
BAD = "CREATE TABLE t4 (id nonsense)"


def run(*statements, previous=PreviousOutcome.NONE):
    return Sql().run(request(*statements, previous_outcome=previous))


def killed_after(progress, *statements):
    """Leave the target as a run does that is killed when it has recorded ``progress`` statements."""
    SqlStep.of(request(*statements)).insert_row()
    for statement in statements[:progress]:
        targets.do(statement)
    ReceiptRow.objects.using("target").update(progress=progress)


def row():
    return ReceiptRow.objects.using("target").get()


def test_progress_ends_in_the_same_receipt_as_anywhere(sql_target):
    first = run(ONE, INSERT, TWO)
    assert run(ONE, INSERT, TWO) == first
    assert (row().state, row().progress) == ("done", 3)
    assert tables() == {"t1", "t2"}


def test_if_the_first_statement_fails_nothing_happened(sql_target):
    with pytest.raises(StatementFailed, match="statement 1 of 2"):
        run(BAD, ONE)
    assert not ReceiptRow.objects.using("target").exists()
    assert tables() == set()


def test_a_failure_in_the_middle_says_what_is_applied_and_stays(sql_target):
    with pytest.raises(OutcomeUnknown, match=r"statement 3 of 4 .* failed.* Statements 1 to 2 are applied"):
        run(ONE, TWO, BAD, THREE)
    assert tables() == {"t1", "t2"}
    assert (row().state, row().progress) == ("intent", 2)


def test_a_redelivery_after_a_kill_between_ddl_and_progress_does_not_guess(sql_target):
    killed_after(1, ONE, TWO, THREE)
    targets.do(TWO)  # applied, and killed before that was recorded
    message = r"statement 2 of 3 \(CREATE TABLE t2 .* may or may not be applied. Statement 1 is applied"
    for previous in (PreviousOutcome.UNKNOWN, PreviousOutcome.NONE):
        with pytest.raises(OutcomeUnknown, match=message):
            run(ONE, TWO, THREE, previous=previous)
    assert tables() == {"t1", "t2"}


def test_plain_dml_commits_with_its_progress_so_it_is_known_not_to_be_applied(sql_target):
    killed_after(1, ONE, INSERT)
    with pytest.raises(OutcomeUnknown, match=r"statement 2 of 2 \(INSERT .* is not applied"):
        run(ONE, INSERT, previous=PreviousOutcome.UNKNOWN)


def test_a_retry_that_a_person_asked_for_goes_on_after_the_recorded_progress(sql_target):
    killed_after(1, ONE, TWO, THREE)
    receipt = run(ONE, TWO, THREE, previous=PreviousOutcome.FAILED)
    assert receipt.details["statements"] == 3
    assert tables() == {"t1", "t2", "t3"}


def test_a_retry_can_be_told_that_the_doubtful_statement_is_applied(sql_target):
    killed_after(1, ONE, TWO, THREE)
    targets.do(TWO)
    with pytest.raises(OutcomeUnknown, match="first run on the target: UPDATE") as unknown:
        run(ONE, TWO, THREE, previous=PreviousOutcome.FAILED)
    targets.do(str(unknown.value).rpartition("target: ")[2])
    assert run(ONE, TWO, THREE, previous=PreviousOutcome.FAILED).details["statements"] == 3


def test_a_retry_whose_first_statement_was_applied_before_does_not_take_that_for_nothing(sql_target):
    killed_after(0, ONE, TWO)
    targets.do(ONE)
    with pytest.raises(OutcomeUnknown, match="statement 1 of 2"):
        run(ONE, TWO, previous=PreviousOutcome.FAILED)
    assert row().progress == 0


def test_when_all_is_recorded_and_only_the_end_is_missing_there_is_nothing_to_guess(sql_target):
    killed_after(2, ONE, TWO)
    assert run(ONE, TWO, previous=PreviousOutcome.UNKNOWN).details["statements"] == 2


def test_a_procedure_that_fails_may_have_done_a_part(sql_target):
    targets.do(ONE, "DROP PROCEDURE IF EXISTS half")
    targets.do("CREATE PROCEDURE half() BEGIN INSERT INTO t1 VALUES (1); INSERT INTO t1 VALUES (1); END")
    with pytest.raises(OutcomeUnknown, match="a part of it may be applied"):
        run("CALL half()")
    targets.do("DROP PROCEDURE half")


def test_a_second_run_waits_for_the_first_and_takes_its_receipt(sql_target, monkeypatch):
    slow = "CREATE TABLE t1 AS SELECT SLEEP(1.5) AS a"
    with Background(lambda: run(slow, TWO)) as first:
        wait_until(lambda: elsewhere(ReceiptRow.objects.using("target").exists))
        second = run(slow, TWO, previous=PreviousOutcome.UNKNOWN)
    assert second == first.answer


def test_a_second_run_that_waits_too_long_did_nothing_and_comes_back_later(sql_target, monkeypatch):
    monkeypatch.setattr(sql_intent, "LOCK_SECONDS", 0)
    slow = "CREATE TABLE t1 AS SELECT SLEEP(1.5) AS a"
    with Background(lambda: run(slow)):
        wait_until(lambda: elsewhere(ReceiptRow.objects.using("target").exists))
        with pytest.raises(RetryLater, match="another run of this step is under way"):
            run(slow, previous=PreviousOutcome.UNKNOWN)


def test_a_session_that_is_killed_in_a_statement_leaves_it_in_doubt(sql_target):
    message = r"statement 2 of 3 .* may or may not be applied. Statement 1 is applied"
    with Background(kill_the_sleeper), pytest.raises(OutcomeUnknown, match=message):
        run(ONE, "CREATE TABLE t2 AS SELECT SLEEP(60) AS a", THREE)
    assert tables() == {"t1"}


def kill_the_sleeper():
    """End, from another session, the one that sleeps in a statement."""
    asleep = "SELECT id FROM information_schema.processlist WHERE info LIKE 'CREATE TABLE t2 AS SELECT SLEEP%'"
    wait_until(lambda: rows(asleep))
    targets.do(f"KILL {rows(asleep)[0][0]}")


def test_the_operator_sees_what_is_in_doubt_and_a_retry_ends_it(sql_target):
    forward = {"vendor": "mysql", "statements": [ONE, "ALTER TABLE t9 ADD COLUMN a integer"]}
    back = {"vendor": "mysql", "statements": ["DROP TABLE t1", "DROP TABLE t9"]}
    step = {"key": "c", "kind": "sql", "forward": forward, "reverse": back}
    transition = targets.plan(canonical_json({"plugin": "p", "version": "1", "contributions": [step]}).encode())
    failed = targets.run(factories.execute(transition, executor="sql:v1"))
    receipt = failed.receipts.get()
    assert (receipt.error_code, receipt.outcome_unknown) == ("outcome_unknown", True)
    assert "Statement 1 is applied" in receipt.error
    targets.do("CREATE TABLE t9 (id integer)")
    assert targets.run(factories.retry(transition)).status == "SUCCEEDED"
    assert targets.run(factories.compensate(transition)).status == "SUCCEEDED"
    assert tables() == set()
