"""People who use the admin: each with exactly the rights that a test gives them."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

VIEW = ("view_pluginrelease", "view_transition", "view_execution")


def operator(*rights: str, enforce_csrf_checks: bool = False) -> Client:
    """The browser of a member of staff who is logged in and has these rights of the app ``transitions``."""
    user = get_user_model().objects.create_user(f"operator-{get_user_model().objects.count()}", is_staff=True)
    permissions = Permission.objects.filter(content_type__app_label="transitions", codename__in=rights)
    assert permissions.count() == len(rights)
    user.user_permissions.set(permissions)
    client = Client(enforce_csrf_checks=enforce_csrf_checks)
    client.force_login(user)
    return client


def messages_of(response) -> list[str]:
    """What the page that followed an action said."""
    return [str(message) for message in response.context["messages"]]
