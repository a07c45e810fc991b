"""System checks of this app."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register

from outbox import conf
from transitions.executors.base import executor_codes


@register("transitions")
def check_executor_code(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """E001: new batches would be queued for an executor that nobody registered."""
    code = conf.executor_code()
    if code in executor_codes():
        return []
    message = f"OUTBOX['EXECUTOR_CODE'] is {code!r}, which no installed app registers."
    hint = f"Use one of {', '.join(executor_codes())}, or register yours in an app's outbox_executors module."
    return [Error(message, hint=hint, id="transitions.E001")]
