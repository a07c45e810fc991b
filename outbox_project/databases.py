"""Turns a database URL into Django's settings for that database: one function for each vendor.

What the outbox promises rests on the options set here: one writer at a time and a durable commit on SQLite,
READ COMMITTED and strict SQL on MySQL and MariaDB, connections which are checked before a long-lived worker
uses them again.
"""

import warnings
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

Database = dict[str, Any]

SCHEMES = {
    "sqlite": "sqlite",
    "postgres": "postgresql",
    "postgresql": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
}

# A connection is kept for ten minutes and looked at before each use: a worker outlives restarts of its server.
CONN_MAX_AGE_SECONDS = 600
CONNECT_TIMEOUT_SECONDS = 10
SQLITE_BUSY_SECONDS = 20

BASE_DIR = Path(__file__).resolve().parent.parent


def database_from_url(url: str, *, variable: str, test_prefix: str = "test_") -> Database:
    """Returns the database that `url` names; raises ImproperlyConfigured, which names `variable`, if it names none.

    The name of its test database begins with `test_prefix`, so that two aliases with one URL do not share it.
    """
    url = url.strip()
    vendor = _vendor(url, variable=variable)
    parsed = _parts(f"{vendor}://{url.partition('://')[2]}", variable=variable)
    if parsed["NAME"] in ("", ":memory:"):
        raise ImproperlyConfigured(f"{variable} names no database: {_EXPECTED[vendor]}.")
    return _BY_VENDOR[vendor](parsed, test_prefix)


def _vendor(url: str, *, variable: str) -> str:
    """Returns the vendor of `url`; the error names the scheme and never the rest, which holds a password."""
    scheme, separator, _ = url.partition("://")
    vendor = SCHEMES.get(scheme.lower()) if separator else None
    if vendor is None:
        shown = repr(scheme) if separator else "none"
        raise ImproperlyConfigured(f"{variable} has the scheme {shown}; allowed are {', '.join(sorted(SCHEMES))}.")
    return vendor


def _parts(url: str, *, variable: str) -> Database:
    """Returns the parts of `url`; the error does not quote the parser's message, which may hold the password."""
    try:
        with warnings.catch_warnings(action="ignore"):
            parts: Database = environ.Env.db_url_config(url)
    except ValueError:
        raise ImproperlyConfigured(
            f"{variable} cannot be read as a URL: percent-encode special characters in its user and password."
        ) from None
    return parts


def _sqlite(parsed: Database, test_prefix: str) -> Database:
    """One writer at a time, which waits for its turn; readers are not blocked (WAL); a commit is on the disk.

    IMMEDIATE takes the write lock where a transaction begins: a lock taken later, by the first write, fails at once
    with "database is locked" whenever another connection wrote meanwhile, and no time-out helps.
    `synchronous` stays FULL, SQLite's own default: a receipt that was committed survives a loss of power.
    """
    # A relative name is looked up beside manage.py: a worker started elsewhere must not make a second, empty file.
    path = BASE_DIR / parsed["NAME"]
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": SQLITE_BUSY_SECONDS,
            "init_command": "PRAGMA journal_mode=WAL;",
        },
        "CONN_MAX_AGE": CONN_MAX_AGE_SECONDS,
        # A file, not memory: tests use threads and processes, and each has to see one and the same database.
        "TEST": {"NAME": str(path.with_name(f"{test_prefix}{path.name}"))},
    }


def _postgresql(parsed: Database, test_prefix: str) -> Database:
    """A server whose connections are kept and checked.

    READ COMMITTED is set and not left to the server's own default: the claim relies on an UPDATE which looks at the
    row again after it waited for its lock.
    """
    from psycopg import IsolationLevel

    options = {"connect_timeout": CONNECT_TIMEOUT_SECONDS, "isolation_level": IsolationLevel.READ_COMMITTED}
    return {
        **_server(parsed, test_prefix),
        "ENGINE": "django.db.backends.postgresql",
        "OPTIONS": {**options, **parsed.get("OPTIONS", {})},
    }


def _mysql(parsed: Database, test_prefix: str) -> Database:
    """MySQL and MariaDB alike: four-byte text, READ COMMITTED, and a value that does not fit is an error, not a cut.

    READ COMMITTED, because under the server's REPEATABLE READ a conditional update is blocked by gaps between rows
    and a lost race is read from an old snapshot. The test database has the loose collation of an ordinary server, so
    that a key column which forgot its own is found by a test.
    """
    database = _server(parsed, test_prefix)
    database["TEST"] |= {"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_general_ci"}
    options = {
        "charset": "utf8mb4",
        "isolation_level": "read committed",
        "init_command": "SET sql_mode='STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
    }
    return {**database, "ENGINE": "django.db.backends.mysql", "OPTIONS": {**options, **parsed.get("OPTIONS", {})}}


def _server(parsed: Database, test_prefix: str) -> Database:
    """What the two kinds of server share: where it is, who asks, how long a connection is kept."""
    place = {key: parsed.get(key, "") or "" for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    return {
        **place,
        "CONN_MAX_AGE": parsed.get("CONN_MAX_AGE", CONN_MAX_AGE_SECONDS),
        "CONN_HEALTH_CHECKS": True,
        "TEST": {"NAME": f"{test_prefix}{place['NAME']}"},
    }


_EXPECTED = {
    "sqlite": "write sqlite:///relative.sqlite3 or sqlite:////absolute.sqlite3; threads cannot share one in memory",
    "postgresql": "write postgresql://USER:PASSWORD@HOST:PORT/NAME",
    "mysql": "write mysql://USER:PASSWORD@HOST:PORT/NAME",
}
_BY_VENDOR = {"sqlite": _sqlite, "postgresql": _postgresql, "mysql": _mysql}
