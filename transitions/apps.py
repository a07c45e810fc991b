from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class TransitionsConfig(AppConfig):
    name = "transitions"
    verbose_name = "Plugin transitions"

    def ready(self) -> None:
        from outbox import lanes
        from transitions import checks  # noqa: F401  (registers the system checks)
        from transitions.delivery import CommandLane

        lanes.register(CommandLane())
        # Built-in executors, then those of the project: each app's ``outbox_executors`` module registers its own.
        autodiscover_modules("outbox_executors")
