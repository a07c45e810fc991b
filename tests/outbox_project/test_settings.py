"""Settings, as a new process reads them from its environment."""

import json
import os
import subprocess
import sys

import pytest

from outbox_project.databases import BASE_DIR

READ = """
import json
from outbox_project import settings
print(json.dumps({name: value for name, value in vars(settings).items() if name.isupper()}, default=str))
"""


def settings_from(**environment):
    """The settings of a process with this environment and no other, or the last line of its error."""
    base = {"PATH": os.environ["PATH"], "OUTBOX_ENV_FILE": os.devnull}
    done = subprocess.run(
        [sys.executable, "-c", READ], env=base | environment, cwd=BASE_DIR, capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def test_a_bare_clone_runs_with_debug_and_nothing_else():
    settings = settings_from(DEBUG="true")
    assert settings["SECRET_KEY"] == settings["INSECURE_DEVELOPMENT_KEY"]
    assert settings["SECURE_SSL_REDIRECT"] is False


def test_without_debug_every_protection_is_on():
    settings = settings_from(SECRET_KEY="s", ALLOWED_HOSTS="a.example,b.example")
    assert settings["ALLOWED_HOSTS"] == ["a.example", "b.example"]
    names = ("SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE")
    assert all(settings[name] for name in names)


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ({}, "SECRET_KEY"),
        ({"SECRET_KEY": ""}, "SECRET_KEY"),
        ({"SECRET_KEY": "s"}, "ALLOWED_HOSTS"),
        ({"OUTBOX_ENV_FILE": ".env.example"}, "SECRET_KEY"),
        ({"DEBUG": "ture"}, "DEBUG"),
        ({"DEBUG": "1", "OUTBOX_LOG_FORMAT": "xml"}, "OUTBOX_LOG_FORMAT"),
        ({"DEBUG": "1", "SECURE_HSTS_SECONDS": "-1"}, "SECURE_HSTS_SECONDS"),
        ({"DEBUG": "1", "TARGET_DATABASE_URL": "nowhere"}, "TARGET_DATABASE_URL"),
    ],
)
def test_what_is_missing_or_cannot_be_meant_is_refused_by_its_name(environment, variable):
    assert settings_from(**environment).startswith(f"django.core.exceptions.ImproperlyConfigured: {variable} ")


def test_the_outbox_gets_its_numbers_as_they_were_written():
    settings = settings_from(DEBUG="1", OUTBOX_BATCH_SIZE="many", OUTBOX_LEASE_SECONDS="")
    assert settings["OUTBOX"]["BATCH_SIZE"] == "many"
    assert "LEASE_SECONDS" not in settings["OUTBOX"]
