"""System checks of the engine. Each id stands for one rule; `docs/configuration.md` lists them with their fixes."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections, models

from outbox import conf
from outbox.lanes import LaneOptions
from outbox.leases import Leased


@register("outbox")
def check_options(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """E001, W001: an option that is no number, or is out of bounds; and the combinations of the values in force."""
    return [_misfit_message(misfit) for misfit in conf.misfits()] + dangers(
        LaneOptions.from_settings(), shutdown_seconds=conf.number("SHUTDOWN_SECONDS")
    )


def _misfit_message(misfit: conf.Misfit) -> CheckMessage:
    setting = f"OUTBOX['{misfit.name}']"
    if misfit.is_number:
        message = f"{setting} is {misfit.given!r}, out of its bounds; {misfit.in_force:g} is in force."
        return Warning(message, hint=f"Set it to {misfit.rule}.", id="outbox.W001")
    return Error(f"{setting} is {misfit.given!r}, which is not {misfit.rule}.", hint="Set a number.", id="outbox.E001")


def dangers(options: LaneOptions, *, shutdown_seconds: float) -> list[CheckMessage]:
    """E002, E003, W002: options that are fine alone and dangerous together. The worker asks about its own, too."""
    found: list[CheckMessage] = []
    if options.renew_seconds > options.lease_seconds * conf.LARGEST_LEASE_SHARE * 1.001:
        message = (
            f"A lease of {options.lease_seconds:g} s is not longer than three renewals ({options.renew_seconds:g} s)."
        )
        hint = "Leave RENEW_SECONDS out (a third of LEASE_SECONDS), or lengthen LEASE_SECONDS."
        found.append(Error(message, hint=hint, id="outbox.E002"))
    if options.deadline_seconds < options.lease_seconds:
        message = f"DEADLINE_SECONDS ({options.deadline_seconds:g}) ends before a lease ({options.lease_seconds:g} s)."
        hint = "Make DEADLINE_SECONDS longer than the longest step, and at least LEASE_SECONDS."
        found.append(Error(message, hint=hint, id="outbox.E003"))
    if shutdown_seconds > options.lease_seconds:
        message = f"SHUTDOWN_SECONDS ({shutdown_seconds:g}) is longer than a lease ({options.lease_seconds:g} s)."
        hint = "A process that is killed during its grace holds its row for up to a lease more; keep the grace shorter."
        found.append(Warning(message, hint=hint, id="outbox.W002"))
    return found


@register(Tags.database)
def check_databases(
    app_configs: Sequence[AppConfig] | None, databases: Iterable[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """E010: SQLite without IMMEDIATE transactions. E011: MySQL or MariaDB that rounds instants."""
    found: list[CheckMessage] = []
    for alias in databases or ():
        connection = connections[alias]
        if connection.vendor == "sqlite":
            found += _check_sqlite(connection)
        elif connection.vendor == "mysql":
            found += [message for model in _leased_models() for message in _check_precision(connection, model)]
    return found


def _check_sqlite(connection: Any) -> list[CheckMessage]:
    if str(connection.settings_dict["OPTIONS"].get("transaction_mode", "")).upper() == "IMMEDIATE":
        return []
    message = f"Database {connection.alias!r}: SQLite transactions do not begin IMMEDIATE."
    hint = "Set OPTIONS['transaction_mode'] = 'IMMEDIATE': a transaction that reads first would fail as locked."
    return [Error(message, hint=hint, id="outbox.E010")]


def _leased_models() -> list[type[models.Model]]:
    return [model for model in apps.get_models() if issubclass(model, Leased)]


def _check_precision(connection: Any, model: type[models.Model]) -> list[CheckMessage]:
    """A column without microseconds rounds: ready work looks due in the future, and leases compare wrongly."""
    table = model._meta.db_table
    query = (
        "SELECT column_name, datetime_precision FROM information_schema.columns WHERE table_schema = DATABASE()"
        " AND table_name = %s AND data_type IN ('datetime', 'timestamp') AND datetime_precision < 6"
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [table])
        rounding = [column for column, _ in cursor.fetchall()]
    hint = "ALTER the column to datetime(6)."
    return [Error(f"{table}.{column} keeps no microseconds.", hint=hint, id="outbox.E011") for column in rounding]
