"""The operators' pages of plugin transitions; Django finds them here."""

from transitions.admin.executions import ExecutionAdmin
from transitions.admin.releases import PluginReleaseAdmin
from transitions.admin.transitions import TransitionAdmin

__all__ = ["ExecutionAdmin", "PluginReleaseAdmin", "TransitionAdmin"]
