"""The settings of a process that a test starts: those of the test run, on its test databases."""

import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.worker_kit.apps.WorkerKitConfig"]
for _alias in DATABASES:
    DATABASES[_alias]["NAME"] = os.environ[f"OUTBOX_TEST_NAME_{_alias}"]
