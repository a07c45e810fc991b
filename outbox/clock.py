"""The database's clock: the only one that judges leases and due times."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import DateTimeField, Value
from django.db.models.expressions import Combinable, Expression
from django.db.models.functions import Now


class DatabaseNow(Now):
    """The start of the current statement, in UTC, by the clock of the database server.

    Django's own ``Now`` answers in the time zone of the *session* on MySQL and MariaDB, while Django writes UTC
    there: on a server that runs on local time every lease would be hours off.
    """

    def as_mysql(self, compiler: Any, connection: Any, **extra_context: Any) -> Any:
        return self.as_sql(compiler, connection, template="UTC_TIMESTAMP(6)", **extra_context)


def moment(now: datetime | None = None) -> Expression:
    """The database's present, or the instant that a test injects."""
    return DatabaseNow() if now is None else Value(now, output_field=DateTimeField())


def moment_after(seconds: float, now: datetime | None = None) -> Combinable:
    """The instant ``seconds`` after ``moment(now)``, computed by the database."""
    return moment(now) + timedelta(seconds=seconds)
