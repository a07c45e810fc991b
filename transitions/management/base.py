"""What the commands of this app share: one result, as text or as JSON, and one way to be refused."""

import argparse
import getpass
import json
from abc import abstractmethod
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transitions.errors import TransitionError

MAX_ACTOR_LENGTH: Final = 150


class OperatorCommand(BaseCommand):
    """Calls a service and prints its result. Exit code 1, and the reason on stderr, where it is refused."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
        self.add_operation_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            result = self.operate(options)
        except TransitionError as error:
            if options["json"]:
                self.stdout.write(json.dumps({"error": error.code, "message": str(error)}))
            raise CommandError(f"{error.code}: {error}") from error
        self.stdout.write(json.dumps(result, indent=2) if options["json"] else self.as_text(result))

    @abstractmethod
    def add_operation_arguments(self, parser: CommandParser) -> None:
        """The arguments beside ``--json``."""

    @abstractmethod
    def operate(self, options: dict[str, Any]) -> dict[str, Any]:
        """Do it; returns the result as JSON types."""

    @abstractmethod
    def as_text(self, result: dict[str, Any]) -> str:
        """The result for a person."""


def add_actor(parser: CommandParser) -> None:
    """``--by``: whoever may run a management command on the host may act; the name is for the record."""
    who = f"cli:{_login()}"
    parser.add_argument("--by", type=_actor, default=who, metavar="NAME", help="who asks (default: cli:LOGIN)")


def _actor(name: str) -> str:
    if not 1 <= len(name) <= MAX_ACTOR_LENGTH:
        raise argparse.ArgumentTypeError(f"a name has 1 to {MAX_ACTOR_LENGTH} characters")
    return name


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        return "unknown"
