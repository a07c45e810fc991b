"""Keeps this project's tables out of the database which transitions change."""

from typing import Any

TARGET = "target"


class TargetRouter:
    """Lets no migration run on the target: its tables belong to the plugins, and `prepare_target` makes ours."""

    def allow_migrate(self, db: str, app_label: str, model_name: str | None = None, **hints: Any) -> bool | None:
        return False if db == TARGET else None
