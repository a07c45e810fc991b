"""The WSGI entry point for an application server."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "outbox_project.settings")

application = get_wsgi_application()
