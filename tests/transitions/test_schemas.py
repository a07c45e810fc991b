"""Two schemas: same or not, and where not."""

import pytest

from tests.transitions import targets
from tests.transitions.targets import both_databases, only_where_ddl_rolls_back
from transitions.schemas import describe_schema, differences

pytestmark = both_databases

PARENT = "CREATE TABLE parent (id integer NOT NULL PRIMARY KEY)"
CHILD = "CREATE TABLE child (id integer NOT NULL PRIMARY KEY, name varchar(20) NOT NULL, parent_id integer NOT NULL)"
INDEX = "CREATE INDEX child_name ON child (name)"


def described(connection, *statements):
    targets.empty(connection)
    targets.do(*statements)
    return describe_schema(connection)


def test_a_schema_equals_itself_whatever_its_names_and_order(bare_target):
    one = described(bare_target, PARENT, CHILD, INDEX)
    other = described(bare_target, CHILD, "CREATE INDEX quite_another ON child (name)", PARENT)
    assert differences(one, other) == []


def test_the_bookkeeping_tables_are_ignored(sql_target):
    targets.do("CREATE TABLE django_migrations (id integer)")
    assert describe_schema(sql_target) == {}


@pytest.mark.parametrize(
    ("other", "line"),
    [
        ([PARENT], "table child: missing"),
        ([PARENT, CHILD, INDEX, "CREATE TABLE more (id integer)"], "table more: not expected"),
        ([PARENT, CHILD], "table child: missing index (name)"),
        ([PARENT, CHILD, INDEX, "CREATE INDEX twice ON child (name)"], "table child: not expected index (name)"),
        ([PARENT, CHILD, INDEX.replace("INDEX", "UNIQUE INDEX")], "table child: not expected unique (name)"),
        ([PARENT, CHILD.replace("varchar(20)", "varchar(21)"), INDEX], "column child.name: expected varchar(20)"),
        ([PARENT, CHILD.replace("varchar(20)", "char(20)"), INDEX], "column child.name: expected varchar(20)"),
        ([PARENT, CHILD.replace("varchar(20) NOT", "varchar(20)"), INDEX], "column child.name: expected"),
        ([PARENT, CHILD.replace("parent_id", "other_id"), INDEX], "column child.other_id: expected none"),
        ([PARENT, CHILD.replace("(20)", "(20) DEFAULT 'x'"), INDEX], "column child.name: expected"),
        (
            [PARENT, CHILD[:-1] + ", FOREIGN KEY (parent_id) REFERENCES parent (id))", INDEX],
            "table child: not expected foreign key (parent_id) → parent.id",
        ),
        (
            [PARENT, CHILD[:-1] + ", CONSTRAINT c CHECK (parent_id > 3))", INDEX],
            "table child: not expected check (parent_id)",
        ),
    ],
)
def test_a_difference_is_one_readable_line(bare_target, other, line):
    expected = described(bare_target, PARENT, CHILD, INDEX)
    found = differences(expected, described(bare_target, *other))
    assert [each for each in found if each.replace("character varying", "varchar").startswith(line)], found


@only_where_ddl_rolls_back
def test_the_condition_of_an_index_counts(bare_target):
    expected = described(bare_target, CHILD, f"{INDEX} WHERE id > 1")
    assert differences(expected, described(bare_target, CHILD, INDEX))
    assert differences(expected, described(bare_target, CHILD, f"{INDEX} WHERE id > 2"))
    renamed = described(bare_target, CHILD, f"{INDEX} WHERE id > 1".replace("child_name", "renamed"))
    assert differences(expected, renamed) == []
