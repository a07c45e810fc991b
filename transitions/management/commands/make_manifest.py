"""``manage.py make_manifest APP_LABEL…``"""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections
from pydantic import ValidationError

from transitions.executors.sql.target import TARGET, is_configured
from transitions.from_migrations.manifest import CannotWrite, manifest_of
from transitions.manifests import MAX_BYTES, Manifest


class Command(BaseCommand):
    help = (
        "Writes the manifest of Django apps from their migrations, those that they depend on first. The SQL is for the "
        "target database, or for the default one where no target is configured; the migrations are run on a scratch "
        "database of that kind. On MySQL and MariaDB that takes the right to create one (outbox_rehearsal_…)."
    )
    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Here ``--version`` is that of the manifest: Django's own option of the name gives way."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("labels", nargs="+", metavar="APP_LABEL")
        parser.add_argument("--output", type=Path, metavar="FILE", help="where to write it (default: standard output)")
        parser.add_argument("--plugin", metavar="NAME", help="name of the plugin (default: the first app label)")
        parser.add_argument(
            "--leave-out-unwritable",
            action="store_true",
            help="leave out what can't be written as SQL, such as RunPython; the manifest records it",
        )
        parser.add_argument(
            "--version", dest="release", metavar="V", help="version (default: the first app's newest migration)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        manifest = self._manifest(options)
        text = json.dumps(manifest.model_dump(), indent=2, ensure_ascii=False) + "\n"
        if len(text.encode()) > MAX_BYTES:
            raise CommandError(f"the manifest would have {len(text.encode())} bytes; it may have {MAX_BYTES}")
        if options["output"] is None:
            self.stdout.write(text, ending="")
            return
        self._write(options["output"], text)
        self.stdout.write(_summary(manifest, options["output"]))

    def _manifest(self, options: dict[str, Any]) -> Manifest:
        try:
            return manifest_of(
                list(dict.fromkeys(options["labels"])),
                like=connections[TARGET if is_configured() else "default"],
                plugin=options["plugin"],
                version=options["release"],
                leave_out_unwritable=options["leave_out_unwritable"],
            )
        except CannotWrite as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors())
            raise CommandError(f"the manifest can't be written: {problems}") from error
        except DatabaseError as error:
            raise CommandError(f"there is no scratch database to run the migrations on: {error}") from error

    def _write(self, file: Path, text: str) -> None:
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from error


def _summary(manifest: Manifest, file: Path) -> str:
    lines = [f"{manifest.plugin} {manifest.version}: {len(manifest.contributions)} contributions in {file}"]
    return "\n".join([*lines, *(f"  left out: {left.key}: {left.what}" for left in manifest.left_out)])
