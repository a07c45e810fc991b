"""What one can tell of a statement by reading it."""

import pytest

from transitions.executors.sql.text import excerpt, is_plain_dml, may_stop_halfway, problem

VENDORS = ("sqlite", "postgresql", "mysql")


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "SELECT 1;",
        "SELECT 'a;b', 'it''s; so'",
        "SELECT 1 /* one; two */",
        "-- one; two\nSELECT 1",
        'CREATE TABLE "a;b" (id integer)',
        "CREATE TRIGGER t AFTER INSERT ON a FOR EACH ROW BEGIN DELETE FROM b; DELETE FROM c; END",
        "INSERT INTO committed VALUES (1)",
    ],
)
def test_one_statement_is_one(statement, vendor):
    assert problem(statement, vendor) is None


@pytest.mark.parametrize(
    ("vendor", "statement"),
    [
        ("postgresql", "DO $$ BEGIN PERFORM 1; END $$"),
        ("postgresql", "CREATE FUNCTION f() RETURNS int AS $x$ SELECT 1; $x$ LANGUAGE sql"),
        ("postgresql", r"SELECT E'it\'s; so'"),
        ("postgresql", "LOCK TABLE a"),
        ("mysql", r"SELECT 'it\'s; so'"),
        ("mysql", "SELECT `a;b` # c;d"),
        ("mysql", "CREATE DEFINER=`me`@`here` PROCEDURE p() BEGIN SELECT 1; SELECT 2; END"),
        ("sqlite", "SELECT [a;b]"),
    ],
)
def test_each_vendor_has_its_own_quotes(vendor, statement):
    assert problem(statement, vendor) is None


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("", "no SQL"),
        (" ; ", "no SQL"),
        ("/* nothing */ -- at all", "no SQL"),
        ("SELECT 1; SELECT 2", "more than one"),
        ("SELECT ';'; COMMIT", "more than one"),
        ("COMMIT", "COMMIT is not allowed"),
        ("/* really */ begin", "BEGIN is not allowed"),
        ("Savepoint a", "SAVEPOINT is not allowed"),
    ],
)
def test_what_can_not_be_one_statement_of_a_transaction_is_told(statement, why, vendor):
    assert why in (problem(statement, vendor) or "")


@pytest.mark.parametrize(
    "statement", ["INSERT INTO a VALUES (1)", "/* x */ update a SET b = 1", "(SELECT 1)", "WITH a AS"]
)
def test_plain_dml_is_known(statement):
    assert is_plain_dml(statement)


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE a", "SET autocommit = 1", "CALL p()", "/*!50000 DROP TABLE a */", "x"]
)
def test_what_may_commit_by_itself_is_not_plain(statement):
    assert not is_plain_dml(statement)


def test_only_some_statements_stop_halfway():
    assert may_stop_halfway("DROP TABLE a, b")
    assert may_stop_halfway("CALL p()")
    assert not may_stop_halfway("DROP TABLE `a, b`")
    assert not may_stop_halfway("ALTER TABLE a ADD b int, ADD c int")


def test_an_excerpt_is_short_and_on_one_line():
    assert excerpt("SELECT\n   1") == "SELECT 1"
    assert len(excerpt("x" * 10_000)) < 210
