"""``manage.py prepare_target``"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from transitions.executors.sql.target import TABLE, TargetNotReady, prepare, target_connection


class Command(BaseCommand):
    help = f"Makes the table {TABLE} in the target database, where sql:v1 leaves its receipts. May be run at any time."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = prepare()
        except TargetNotReady as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"the target database failed: {error}") from error
        target = f"target ({target_connection().vendor})"
        self.stdout.write(f"{target}: {'made table' if made else 'nothing to do, it has table'} {TABLE}")
