"""What tests of ``sql:v1`` do with a real target database."""

from typing import Any

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from tests import factories
from transitions.executors.base import PreviousOutcome, StepRequest
from transitions.executors.sql.target import TABLE, TARGET
from transitions.models import Execution, Transition

VENDOR = connections[TARGET].vendor
ROLLS_DDL_BACK = VENDOR != "mysql"

only_where_ddl_rolls_back = pytest.mark.skipif(not ROLLS_DDL_BACK, reason="MySQL and MariaDB commit DDL by themselves")
only_where_ddl_commits = pytest.mark.skipif(ROLLS_DDL_BACK, reason="only MySQL and MariaDB commit DDL by themselves")
only_sqlite = pytest.mark.skipif(VENDOR != "sqlite", reason="the SQL of this plugin is for SQLite")

both_databases = pytest.mark.django_db(transaction=True, databases=["default", "target"])


def request(*statements: str, key: str = "a" * 64, **changes: Any) -> StepRequest:
    """The first run of a step, unless ``changes`` say otherwise."""
    values: dict[str, Any] = {
        "kind": "sql",
        "direction": "forward",
        "step_key": "apply:thing",
        "payload": {"vendor": VENDOR, "statements": list(statements)},
        "attempt": 1,
        "previous_outcome": PreviousOutcome.NONE,
    }
    return StepRequest(key=key, **{**values, **changes})


def tables() -> set[str]:
    return set(connections[TARGET].introspection.table_names()) - {TABLE}


def rows(query: str) -> list[tuple[Any, ...]]:
    with connections[TARGET].cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def do(*statements: str) -> None:
    with connections[TARGET].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def empty(connection: BaseDatabaseWrapper) -> None:
    """Drop every table, whatever refers to it."""
    quote = connection.ops.quote_name
    names = connection.introspection.table_names()
    cascade = " CASCADE" if connection.vendor == "postgresql" else ""
    connection.disable_constraint_checking()
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DROP TABLE {quote(name)}{cascade}")
    connection.enable_constraint_checking()


def plan(content: bytes, file_name: str = "manifest.json", *, from_version: str | None = None) -> Transition:
    """Import, trust and plan a release."""
    from transitions import planning, releases

    release, _ = releases.import_release(content=content, file_name=file_name, imported_by=factories.OPERATOR)
    identity = {"plugin": release.plugin.code, "version": release.version}
    releases.trust_release(**identity, trusted_by=factories.OPERATOR)
    planned = planning.plan_transition(
        plugin=release.plugin.code,
        from_version=from_version,
        to_version=release.version,
        planned_by=factories.OPERATOR,
    )
    return planned.transition


def run(execution: Execution) -> Execution:
    """Let the real worker deliver what is queued."""
    factories.drain()
    execution.refresh_from_db()
    return execution


def statuses(execution: Execution) -> list[tuple[str, str, int]]:
    return [(r.step_key, r.status, r.attempts) for r in execution.receipts.order_by("position")]


def errors(execution: Execution) -> list[str]:
    """For the message of a failed assertion, and for assertions about errors."""
    return [r.error for r in execution.receipts.order_by("position") if r.error]


def namespaces() -> list[str]:
    """The databases or schemas beside which a scratch one could have been left."""
    queries = {"postgresql": "SELECT nspname FROM pg_namespace", "mysql": "SHOW DATABASES"}
    return [name for (name,) in rows(queries[VENDOR])] if VENDOR in queries else []
