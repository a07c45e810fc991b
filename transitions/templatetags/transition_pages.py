"""What the operators' templates say of a batch."""

from typing import Any

from django import template
from django.utils.safestring import SafeString

from transitions.admin.standing import describe

register = template.Library()


@register.filter
def standing(command: Any) -> SafeString:
    """Where the command stands, as a badge with the words that go with it."""
    return describe(command)
