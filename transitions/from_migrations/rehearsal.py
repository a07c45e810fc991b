"""A scratch database of the target's own kind, where migrations are run for real so that their SQL is the true one.

Django writes some statements from what it finds in the database, such as the name of a constraint to be dropped.
Collected without a database that is as the migration expects it, those statements would be missing, in silence.

- SQLite: a database in memory.
- PostgreSQL: a schema of its own in a transaction of the target's database, which is rolled back.
- MySQL, MariaDB: a database of its own on the target's server, which is dropped.

Nothing of the target is read or changed, as long as no hand-written SQL of a migration names another schema.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

# Not that of the target, which is closed to this project's own migrations by a router.
ALIAS: Final = "rehearsal"

_NAME: Final = "outbox_rehearsal"


@contextmanager
def scratch_database(like: BaseDatabaseWrapper) -> Iterator[BaseDatabaseWrapper]:
    """An empty database under `ALIAS`, for this thread and this block only."""
    with _BY_VENDOR[like.vendor](like) as connection:
        yield connection


@contextmanager
def _sqlite(like: BaseDatabaseWrapper) -> Iterator[BaseDatabaseWrapper]:
    with _connected(like, NAME=":memory:") as connection:
        yield connection


@contextmanager
def _postgresql(like: BaseDatabaseWrapper) -> Iterator[BaseDatabaseWrapper]:
    with _connected(like) as connection, transaction.atomic(using=ALIAS):
        _do(connection, f"CREATE SCHEMA {_NAME}")
        with connection.cursor() as cursor:
            # Types of installed extensions stay visible, behind what the migrations make.
            cursor.execute(
                "SELECT DISTINCT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
                "WHERE nspname <> 'pg_catalog'"
            )
            path = ", ".join([_NAME, *(name for (name,) in cursor.fetchall())])
        _do(connection, f"SET LOCAL search_path TO {path}")
        yield connection
        transaction.set_rollback(True, using=ALIAS)


@contextmanager
def _mysql(like: BaseDatabaseWrapper) -> Iterator[BaseDatabaseWrapper]:
    name = f"{_NAME}_{uuid.uuid4().hex[:12]}"
    with like.cursor() as cursor:
        cursor.execute("SELECT @@character_set_database, @@collation_database")
        charset, collation = cursor.fetchone()
    _do(like, f"CREATE DATABASE {name} CHARACTER SET {charset} COLLATE {collation}")
    try:
        with _connected(like, NAME=name) as connection:
            yield connection
    finally:
        _do(like, f"DROP DATABASE {name}")


_BY_VENDOR: Final = {"sqlite": _sqlite, "postgresql": _postgresql, "mysql": _mysql}


def start_over(connection: BaseDatabaseWrapper) -> None:
    """Make the scratch database empty again."""
    name = connection.settings_dict["NAME"]
    match connection.vendor:
        case "sqlite":
            _forget(connection)
        case "postgresql":
            _do(connection, f"DROP SCHEMA {_NAME} CASCADE", f"CREATE SCHEMA {_NAME}")
        case "mysql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT @@character_set_database, @@collation_database")
                charset, collation = cursor.fetchone()
            create = f"CREATE DATABASE {name} CHARACTER SET {charset} COLLATE {collation}"
            _do(connection, f"DROP DATABASE {name}", create, f"USE {name}")


@contextmanager
def _connected(like: BaseDatabaseWrapper, **settings: str) -> Iterator[BaseDatabaseWrapper]:
    """A second connection like ``like``, known to this thread as `ALIAS`."""
    connection: Any = like.copy(alias=ALIAS)
    connection.settings_dict.update(settings)
    connections[ALIAS] = connection
    try:
        yield connection
    finally:
        with suppress(AttributeError):
            del connections[ALIAS]
        _forget(connection)


def _forget(connection: BaseDatabaseWrapper) -> None:
    """Close, and with it drop a database in memory: the close of SQLite's own wrapper leaves that open."""
    BaseDatabaseWrapper.close(connection)


def _do(connection: BaseDatabaseWrapper, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
