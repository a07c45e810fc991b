"""Makes the scripted executors known to a worker process that runs with ``OUTBOX_EXTRA_APPS=tests``."""

from tests import executors  # noqa: F401
