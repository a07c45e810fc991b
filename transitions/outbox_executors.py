"""The built-in executors, registered as a project's own are: from a module of this name in an installed app."""

from transitions.executors.base import register
from transitions.executors.dry_run import DryRun
from transitions.executors.sql.executor import Sql

register(DryRun())
register(Sql())
