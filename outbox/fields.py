"""Model fields whose meaning is the same on every database."""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class KeyField(models.CharField):
    """A short text that is compared byte by byte.

    The default collations of MySQL and MariaDB take ``Key``, ``key``, ``kéy`` and ``key␠`` for one value. PostgreSQL
    and SQLite compare bytes as they are; there this is an ordinary ``CharField``.
    """

    def db_parameters(self, connection: BaseDatabaseWrapper) -> Any:
        parameters = super().db_parameters(connection)
        if connection.vendor == "mysql":
            parameters["collation"] = _binary_collation(connection)
        return parameters


def _binary_collation(connection: Any) -> str:
    """The collation that neither folds case and accents nor ignores trailing spaces (NO PAD)."""
    return "utf8mb4_nopad_bin" if connection.mysql_is_mariadb else "utf8mb4_0900_bin"
