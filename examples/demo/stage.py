"""The demo's own folder, environment and commands. Nothing outside the folder is touched."""

import json
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
STATE = ROOT / ".demo"
MANAGE = [sys.executable, str(ROOT / "manage.py")]
OUTBOX_FILE, TARGET_FILE, REFERENCE_FILE = (STATE / name for name in ("outbox", "target", "reference"))


class DemoFailed(Exception):
    """Something was not as it must be."""


def url(file: Path) -> str:
    return f"sqlite:///{file}.sqlite3"


def environment(database: Path = OUTBOX_FILE) -> dict[str, str]:
    """The whole configuration of the demo; what the caller's environment says of the outbox does not leak in."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("OUTBOX_", "DJANGO_", "TARGET_"))}
    return {
        **own,
        "DEBUG": "true",
        "OUTBOX_ENV_FILE": os.devnull,
        "DATABASE_URL": url(database),
        "TARGET_DATABASE_URL": url(TARGET_FILE),
        "OUTBOX_EXECUTOR_CODE": "sql:v1",
        "OUTBOX_POLL_INTERVAL_SECONDS": "1",
        "OUTBOX_LOG_FORMAT": "json",
        "OUTBOX_LOG_LEVEL": "INFO",
    }


def clean() -> None:
    """Begin from nothing."""
    shutil.rmtree(STATE, ignore_errors=True)
    STATE.mkdir()


def say(text: str) -> None:
    print(text, flush=True)


def heading(text: str) -> None:
    say(f"\n== {text}")


def manage(*arguments: str, env: dict[str, str] | None = None) -> str:
    """Run a management command, shown as one would type it; returns its output. Raises `DemoFailed`."""
    say(f"$ manage.py {' '.join(arguments)}")
    done = subprocess.run(
        [*MANAGE, *arguments], env=env or environment(), cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DemoFailed(f"manage.py {arguments[0]} ended with {done.returncode}:\n{done.stderr or done.stdout}")
    return done.stdout


def manage_json(*arguments: str) -> dict[str, Any]:
    """The result of a command that answers in JSON."""
    answer: dict[str, Any] = json.loads(manage(*arguments, "--json"))
    return answer


def make_operator() -> str:
    """An account for the admin; returns its random password."""
    password = secrets.token_urlsafe(12)
    env = {**environment(), "DJANGO_SUPERUSER_PASSWORD": password}
    manage("createsuperuser", "--noinput", "--username", "operator", "--email", "operator@localhost", env=env)
    return password


def require(condition: bool, what: str) -> None:
    """Raise `DemoFailed` unless something is as it must be."""
    if not condition:
        raise DemoFailed(f"not as it must be: {what}")
    say(f"   checked: {what}")
