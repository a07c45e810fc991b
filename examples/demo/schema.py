"""The target after the demo's batches, held against what Django's own ``migrate`` makes."""

import os
from pathlib import Path
from typing import Any

from examples.demo.stage import REFERENCE_FILE, TARGET_FILE, environment, heading, manage, require, say, url


def require_as_migrated() -> None:
    """Every table that the auth plugin brought is as ``migrate`` makes it in an empty database."""
    heading("The target's schema, compared with one that migrate itself made")
    manage("migrate", "auth", "--verbosity", "0", env=environment(REFERENCE_FILE))
    reference, target = _schema(REFERENCE_FILE), _schema(TARGET_FILE)
    brought = {name: table for name, table in target.items() if name in reference}
    from transitions.schemas import differences

    found = differences(reference, brought)
    for line in found:
        say(f"   {line}")
    require(not found, f"{len(reference)} tables are equal to those of migrate: {', '.join(sorted(reference))}")


def require_empty() -> None:
    """Nothing but the receipts is left in the target."""
    require(not _schema(TARGET_FILE), "the target is as empty as it was, but for its receipts")


def show_receipts() -> None:
    """The target's side of every step, forward and back."""
    heading("The receipts that the target keeps, by the time at which it committed")
    _set_up()
    from transitions.executors.sql.target import ReceiptRow
    from transitions.management.tables import table

    receipts = ReceiptRow.objects.using("target").order_by("done_at")
    say(table(["done", "step", "key"], [(f"{row.done_at:%T.%f}", row.step, row.pk[:16]) for row in receipts]))


def _set_up() -> None:
    os.environ.update(environment(), DJANGO_SETTINGS_MODULE="outbox_project.settings")
    import django

    django.setup()


def _schema(file: Path) -> Any:
    _set_up()
    from django.db.utils import ConnectionHandler

    from outbox_project.databases import database_from_url
    from transitions.schemas import describe_schema

    connection = ConnectionHandler({"default": database_from_url(url(file), variable="DATABASE_URL")})["default"]
    try:
        return describe_schema(connection)
    finally:
        connection.close()
