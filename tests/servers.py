"""Finds the database servers that the suite runs on: one that was named, one that answers, or one started for the run.

What is found has proved itself: it let us in, and a database was created and dropped on it.
"""

import getpass
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import quote, urlsplit, urlunsplit

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error
from django.db.backends.utils import CursorWrapper
from django.db.utils import ConnectionHandler

from outbox_project.databases import database_from_url
from tests import private_servers

GIVEN = {"postgresql": "TEST_POSTGRES_URL", "mariadb": "TEST_MARIADB_URL"}
SCHEMES = {"postgresql": ("postgresql", "postgres"), "mariadb": ("mariadb", "mysql")}
DRIVERS = {"postgresql": ("psycopg", "psycopg"), "mariadb": ("MySQLdb", "mysqlclient")}
STARTERS = {"postgresql": private_servers.postgresql, "mariadb": private_servers.mariadb}
# Of this process alone: two runs on one server do not drop each other's databases.
OWN_NAME = f"outbox_{os.getpid()}"
TEST_PREFIXES = ("test_", "test_target_")


class NotFound(Exception):
    """No server of this vendor can be had here; the text says why."""


class Unreachable(NotFound):
    """The URL that somebody gave leads to no server which can be used: a failure, where NotFound may be passed over."""


@dataclass(frozen=True)
class Server:
    """A server on which databases can be created."""

    url: str
    version: str
    origin: str


@contextmanager
def server(vendor: str) -> Iterator[Server]:
    """Yields a server that works; stops it afterwards if it was started here. Raises NotFound or Unreachable."""
    module, package = DRIVERS[vendor]
    if find_spec(module) is None:
        raise NotFound(f"{package} is not installed in this environment")
    if url := os.environ.get(GIVEN[vendor]):
        yield _given(vendor, url)
        return
    found, reasons = _answering(vendor)
    if found is None:
        with _started(vendor, reasons) as private:
            yield private
        return
    try:
        yield found
    finally:
        _drop_test_databases(found.url)


def _given(vendor: str, url: str) -> Server:
    """Returns the server at a URL that was given; its database name, if it has one, is kept."""
    if urlsplit(url).scheme not in SCHEMES[vendor]:
        raise Unreachable(f"{GIVEN[vendor]} has to begin with {' or '.join(SCHEMES[vendor])}")
    variable, parts = GIVEN[vendor], urlsplit(url)
    named = url if parts.path.strip("/") else urlunsplit(parts._replace(path=f"/{OWN_NAME}"))
    try:
        return Server(named, _prove(named, variable), f"given by {variable}")
    except (Error, ImproperlyConfigured) as problem:
        raise Unreachable(f"{variable}: {_one_line(problem)}") from problem


def _answering(vendor: str) -> tuple[Server | None, list[str]]:
    """Returns the first local server that lets us in, or none and what each one said."""
    reasons: list[str] = []
    for place, url in _LOCAL[vendor]():
        try:
            return Server(url, _prove(url, place), f"answers at {place}"), reasons
        except (Error, ImproperlyConfigured) as problem:
            reasons.append(f"{place}: {_one_line(problem)}")
    return None, reasons


@contextmanager
def _started(vendor: str, reasons: list[str]) -> Iterator[Server]:
    """Yields a server started for this run; raises NotFound with why none answers and why none can be started."""
    with private_servers.folder(vendor) as folder:
        try:
            url = f"{folder.start(STARTERS[vendor])}/{OWN_NAME}"
            version = _prove(url, "the server that was started")
        except (private_servers.CannotStart, Error, ImproperlyConfigured) as problem:
            raise NotFound("; ".join([*reasons, f"none can be started: {_one_line(problem)}"])) from problem
        yield Server(url, version, "started for this run")


def _prove(url: str, variable: str) -> str:
    """Returns the version of the server at `url`, after a database has been created and dropped there."""
    with _cursor(url, variable) as cursor:
        cursor.execute("SELECT version()")
        version = str(cursor.fetchone()[0])
        cursor.execute(f"CREATE DATABASE {OWN_NAME}_probe")
        cursor.execute(f"DROP DATABASE {OWN_NAME}_probe")
    return version.partition(" on ")[0]


def _drop_test_databases(url: str) -> None:
    """Drops what a killed test run left behind, under the names of this process only."""
    with _cursor(url, "the test server") as cursor:
        for prefix in TEST_PREFIXES:
            cursor.execute(f"DROP DATABASE IF EXISTS {prefix}{OWN_NAME}")


@contextmanager
def _cursor(url: str, variable: str) -> Iterator[CursorWrapper]:
    """Yields a cursor with no database chosen, connected exactly as Django's test runner connects."""
    if not settings.configured:
        settings.configure(USE_TZ=True)
        django.setup()
    database = database_from_url(url, variable=variable)
    connection = ConnectionHandler({"default": database})["default"]
    with warnings.catch_warnings():
        # Django warns where there is no database "postgres" to connect to; the error that follows says all.
        warnings.simplefilter("ignore", RuntimeWarning)
        with connection._nodb_cursor() as cursor:
            yield cursor


def _local_postgresql() -> Iterator[tuple[str, str]]:
    """The places where a local PostgreSQL lets people in without a password; libpq's own variables move them."""
    host, port = os.environ.get("PGHOST", "127.0.0.1"), os.environ.get("PGPORT", "5432")
    for user in dict.fromkeys(("postgres", getpass.getuser())):
        yield f"{host}:{port} as {user}", f"postgresql://{quote(user)}@{host}:{port}/{OWN_NAME}?connect_timeout=3"
        yield f"the local socket as {user}", f"postgresql://{quote(user)}@:{port}/{OWN_NAME}?connect_timeout=3"


def _local_mariadb() -> Iterator[tuple[str, str]]:
    """The places where a local MariaDB or MySQL lets people in without a password; its client's variables move them."""
    host, port = os.environ.get("MYSQL_HOST", "127.0.0.1"), os.environ.get("MYSQL_TCP_PORT", "3306")
    socket = os.environ.get("MYSQL_UNIX_PORT", "/run/mysqld/mysqld.sock")
    for user in dict.fromkeys(("root", getpass.getuser())):
        yield f"{host}:{port} as {user}", f"mysql://{quote(user)}@{host}:{port}/{OWN_NAME}?connect_timeout=3"
        where = f"unix_socket={quote(socket, safe='')}"
        yield f"{socket} as {user}", f"mysql://{quote(user)}@localhost/{OWN_NAME}?connect_timeout=3&{where}"


_LOCAL = {"postgresql": _local_postgresql, "mariadb": _local_mariadb}


def _one_line(problem: Exception) -> str:
    """The first line of an error: drivers add pages of advice."""
    return next(iter(str(problem).strip().splitlines()), type(problem).__name__)
