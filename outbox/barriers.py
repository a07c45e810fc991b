"""Named points of the production path where a test can stop, kill or disturb the process.

Off, and one comparison, unless a test sets ``hook`` (see ``tests/barriers``). The names are those of the crash tests.
"""

from collections.abc import Callable

hook: Callable[[str], None] | None = None


def reach(barrier: str) -> None:
    """Tell the hook, if there is one, that this thread is at ``barrier``."""
    if hook is not None:
        hook(barrier)
