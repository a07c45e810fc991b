"""What a database's schema is, in terms in which two of the same kind can be compared.

Two schemas are the same if their tables have the same columns (name, type, null, default, identity, collation) in
whatever order, and the same constraints and indexes (kind, columns, what they refer to, condition) under whatever
names. On SQLite the text of a check and the collation of a column are not looked at.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper

from transitions.executors.sql.target import TABLE

IGNORED: Final = frozenset({"django_migrations", TABLE})


@dataclass(frozen=True)
class Table:
    """Columns by name; constraints and indexes as sorted lines, since their names say nothing."""

    columns: dict[str, str]
    constraints: tuple[str, ...]


Schema = Mapping[str, Table]


def describe_schema(connection: BaseDatabaseWrapper) -> dict[str, Table]:
    """Every table but those of Django's and this project's bookkeeping."""
    introspection = connection.introspection
    with connection.cursor() as cursor:
        names = [table.name for table in introspection.get_table_list(cursor) if table.type in ("t", "p")]
        return {name: _table(connection, cursor, name) for name in sorted(names) if name not in IGNORED}


def differences(expected: Schema, found: Schema) -> list[str]:
    """One line a difference, none if the schemas are the same."""
    return [
        line for name in sorted({*expected, *found}) for line in _compare(name, expected.get(name), found.get(name))
    ]


def _compare(name: str, expected: Table | None, found: Table | None) -> Iterator[str]:
    if expected is None or found is None:
        yield f"table {name}: {'not expected' if expected is None else 'missing'}"
        return
    for column in sorted({*expected.columns, *found.columns}):
        wanted, got = expected.columns.get(column), found.columns.get(column)
        if wanted != got:
            yield f"column {name}.{column}: expected {wanted or 'none'}, found {got or 'none'}"
    yield from (f"table {name}: missing {line}" for line in _without(expected.constraints, found.constraints))
    yield from (f"table {name}: not expected {line}" for line in _without(found.constraints, expected.constraints))


def _without(lines: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    """``lines`` less ``others``, each counted: the same index twice is a difference."""
    rest = list(lines)
    for line in others:
        if line in rest:
            rest.remove(line)
    return rest


def _table(connection: BaseDatabaseWrapper, cursor: Any, name: str) -> Table:
    cursor.execute(_COLUMNS[connection.vendor], [name])
    columns = {column: ", ".join(filter(None, map(_text, facts))) for column, *facts in cursor.fetchall()}
    constraints = connection.introspection.get_constraints(cursor, name)
    clauses = _clauses(connection, cursor, name)
    lines = [_constraint(facts, clauses.get(key, "")) for key, facts in constraints.items()]
    return Table(columns, tuple(sorted(lines)))


def _text(fact: Any) -> str:
    return fact.decode() if isinstance(fact, bytes) else str(fact or "")


def _constraint(facts: Mapping[str, Any], clause: str) -> str:
    """A constraint or index as one line, without its name."""
    columns = ", ".join(str(column) for column in facts["columns"] or ())
    orders = ", ".join(filter(None, facts.get("orders") or ()))
    target = facts.get("foreign_key")
    described = f"{_kind(facts)} ({columns})"
    described += f" → {target[0]}.{target[1]}" if target else ""
    described += f" {facts.get('type') or ''} {orders}".rstrip()
    return f"{described} {clause}".rstrip()


def _kind(facts: Mapping[str, Any]) -> str:
    for kind in ("primary_key", "foreign_key", "check"):
        if facts.get(kind):
            return kind.replace("_", " ")
    return "unique" if facts.get("unique") else "index"


def _clauses(connection: BaseDatabaseWrapper, cursor: Any, table: str) -> dict[str, str]:
    """What introspection does not tell: conditions, by the name of the constraint or index."""
    cursor.execute(_CLAUSES[connection.vendor], {"table": table} if connection.vendor == "postgresql" else [table])
    return {name: _text(clause) for name, clause in cursor.fetchall()}


# Name, then the facts: type, null, default, identity, collation.
_COLUMNS: Final = {
    "sqlite": """
        SELECT name, type, CASE WHEN "notnull" THEN 'not null' ELSE 'null' END, 'default ' || dflt_value
        FROM pragma_table_xinfo(%s)""",
    "postgresql": """
        SELECT attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'not null' ELSE 'null' END,
            'default ' || pg_get_expr(adbin, adrelid),
            CASE WHEN attidentity <> '' THEN 'identity ' || attidentity::text END,
            CASE WHEN attgenerated <> '' THEN 'generated' END,
            CASE WHEN attcollation NOT IN (0, typcollation) THEN 'collation ' || collname END
        FROM pg_attribute
        JOIN pg_type ON pg_type.oid = atttypid
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        LEFT JOIN pg_collation ON pg_collation.oid = attcollation
        WHERE attrelid = quote_ident(%s)::regclass AND attnum > 0 AND NOT attisdropped""",
    "mysql": """
        SELECT column_name, column_type, CASE is_nullable WHEN 'YES' THEN 'null' ELSE 'not null' END,
            CONCAT('default ', column_default), extra, CONCAT('collation ', collation_name)
        FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s""",
}
_CLAUSES: Final = {
    "sqlite": """
        SELECT name, substr(sql, instr(sql, ' WHERE ')) FROM sqlite_master
        WHERE type = 'index' AND sql LIKE '%% WHERE %%' AND tbl_name = %s""",
    "postgresql": """
        SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conrelid = quote_ident(%(table)s)::regclass AND contype IN ('c', 'f')
        UNION ALL
        SELECT relname, regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', 'using ') FROM pg_index
        JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = quote_ident(%(table)s)::regclass""",
    "mysql": """
        SELECT constraint_name, check_clause FROM information_schema.check_constraints
        JOIN information_schema.table_constraints USING (constraint_schema, constraint_name)
        WHERE constraint_schema = DATABASE() AND table_constraints.table_name = %s""",
}
