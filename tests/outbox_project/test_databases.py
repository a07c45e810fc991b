"""Database URLs: what each vendor gets, and that a wrong one is refused without showing its password."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from outbox_project.databases import BASE_DIR, database_from_url
from outbox_project.routers import TargetRouter


def test_sqlite_waits_for_the_write_lock_and_tests_in_a_file():
    database = database_from_url("sqlite:////srv/outbox.sqlite3", variable="DATABASE_URL")
    assert database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert database["TEST"]["NAME"] == "/srv/test_outbox.sqlite3"


def test_a_relative_sqlite_file_lies_beside_manage_py_wherever_the_worker_starts():
    database = database_from_url("sqlite:///outbox.sqlite3", variable="DATABASE_URL")
    assert database["NAME"] == str(BASE_DIR / "outbox.sqlite3")


@pytest.mark.parametrize("scheme", ["mysql", "mariadb"])
def test_mysql_and_mariadb_are_strict_and_read_committed(scheme):
    database = database_from_url(f"{scheme}://u:p%40ss@db:3307/outbox", variable="DATABASE_URL")
    assert database["PASSWORD"] == "p@ss"
    assert database["OPTIONS"]["isolation_level"] == "read committed"
    assert "STRICT_ALL_TABLES" in database["OPTIONS"]["init_command"]
    assert database["TEST"] == {"NAME": "test_outbox", "CHARSET": "utf8mb4", "COLLATION": "utf8mb4_general_ci"}


def test_an_option_in_the_url_wins_over_ours():
    database = database_from_url("postgresql://u@db/outbox?connect_timeout=3", variable="DATABASE_URL")
    assert database["OPTIONS"]["connect_timeout"] == 3
    assert database["CONN_HEALTH_CHECKS"] is True


def test_two_aliases_with_one_url_have_two_test_databases():
    url = "postgresql://u@db/outbox"
    default = database_from_url(url, variable="DATABASE_URL")
    target = database_from_url(url, variable="TARGET_DATABASE_URL", test_prefix="test_target_")
    assert default["TEST"]["NAME"] != target["TEST"]["NAME"]


@pytest.mark.parametrize(
    "url",
    [
        "oracle://u:sesame@db/x",
        "sesame",
        "postgresql://u:sesame@db:port/x",
        "postgresql://u:ses#ame/@db/x",
        "postgresql://u:sesame@[::1/x",
        "mysql://u:sesame@db",
        "sqlite://",
        "sqlite://:memory:",
    ],
)
def test_a_wrong_url_is_refused_by_the_name_of_its_variable_and_its_password_is_not_shown(url):
    with pytest.raises(ImproperlyConfigured, match="TARGET_DATABASE_URL") as refused:
        database_from_url(url, variable="TARGET_DATABASE_URL")
    assert "sesame" not in str(refused.value)


def test_an_unknown_scheme_is_told_the_schemes_allowed():
    with pytest.raises(
        ImproperlyConfigured, match="'oracle'; allowed are mariadb, mysql, postgres, postgresql, sqlite"
    ):
        database_from_url("oracle://u@db/x", variable="DATABASE_URL")


def test_no_table_of_ours_is_made_in_the_target():
    router = TargetRouter()
    assert router.allow_migrate("target", "outbox") is False
    assert router.allow_migrate("default", "outbox") is None


@pytest.mark.django_db
def test_the_connection_has_what_the_settings_promise():
    queries = {
        "sqlite": ("PRAGMA journal_mode", "wal"),
        "postgresql": ("SHOW transaction_isolation", "read committed"),
        "mysql": ("SELECT @@SESSION.sql_mode LIKE '%STRICT_ALL_TABLES%'", 1),
    }
    query, expected = queries[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(query)
        assert cursor.fetchone()[0] == expected
