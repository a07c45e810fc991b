"""The ASGI entry point for an application server."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "outbox_project.settings")

application = get_asgi_application()
