"""The project's own settings, with what a test run needs where the environment says nothing.

It fills the environment and not the settings, so that worker processes which tests start inherit it.
"""

import os

for _variable, _value in {
    "SECRET_KEY": "a-key-for-tests-only-" + "0123456789" * 3,
    "ALLOWED_HOSTS": "localhost,127.0.0.1",
    "SECURE_SSL_REDIRECT": "false",
    # A .env of the work tree is somebody's deployment: tests leave it, and its databases, alone.
    "OUTBOX_ENV_FILE": os.devnull,
}.items():
    os.environ.setdefault(_variable, _value)
# The target is of the same kind; its test database has a name of its own.
os.environ.setdefault("TARGET_DATABASE_URL", os.environ.get("DATABASE_URL") or "sqlite:///db.sqlite3")

from outbox_project.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
