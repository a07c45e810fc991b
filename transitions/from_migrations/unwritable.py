"""What of a migration's operations can't be written as SQL (pure)."""

from collections.abc import Iterable
from typing import Any

from django.db.migrations import RunPython, SeparateDatabaseAndState
from django.db.migrations.operations.base import Operation


def unwritable(operation: Operation) -> Iterable[str]:
    """What of an operation runs Python in the database, and in which direction."""
    if isinstance(operation, SeparateDatabaseAndState):
        return [what for inner in operation.database_operations for what in unwritable(inner)]
    if isinstance(operation, RunPython):
        calls: dict[str, Any] = {"forward": operation.code, "reverse": operation.reverse_code}
        return [
            f"{direction}: {operation.describe()} ({code.__module__}.{code.__qualname__})"
            for direction, code in calls.items()
            if code not in (None, RunPython.noop)
        ]
    return [] if operation.reduces_to_sql else [f"{type(operation).__name__}: {operation.describe()}"]


def without_code(operation: Operation) -> Operation:
    """The operation, or of one that can't be written what it does to Django's picture of the models."""
    if isinstance(operation, SeparateDatabaseAndState):
        inner = [without_code(each) for each in operation.database_operations]
        return SeparateDatabaseAndState(database_operations=inner, state_operations=operation.state_operations)
    return operation if operation.reduces_to_sql else SeparateDatabaseAndState(state_operations=[operation])
