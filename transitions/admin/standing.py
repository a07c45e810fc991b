"""Where a batch stands, in words: by the claim's own predicate and the database's clock, so that it can't disagree."""

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Any, Final

from django.db.models import BooleanField, DurationField, ExpressionWrapper, F, QuerySet
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from outbox.admin.formats import badge, duration
from outbox.clock import DatabaseNow
from transitions.models import OutboxCommand
from transitions.states import CommandStatus


class Standing(Enum):
    """The states that an operator tells apart: label, and tone of the badge."""

    WAITING = _("waiting"), "idle"  # the next free worker claims it
    LATER = _("due later"), "idle"  # a worker claims it when its time has come
    PROCESSING = _("processing"), "busy"  # leased, and the lease is good
    EXPIRED = _("lease expired"), "warn"  # its worker has gone silent: claimable, and can be reconciled
    SUCCEEDED = _("succeeded"), "good"
    FAILED = _("failed"), "bad"

    @property
    def label(self) -> Any:
        return self.value[0]

    @property
    def badge(self) -> SafeString:
        return badge(self.value[1], self.label)


def with_standing(commands: QuerySet[OutboxCommand]) -> QuerySet[OutboxCommand]:
    """Commands that `standing_of` and `describe` can judge; adds no query."""
    states = OutboxCommand.lease_states
    return commands.annotate(
        is_due=ExpressionWrapper(states.due(), output_field=BooleanField()),
        is_expired=ExpressionWrapper(states.expired(), output_field=BooleanField()),
        due_in=ExpressionWrapper(F("available_at") - DatabaseNow(), output_field=DurationField()),
        lease_left=ExpressionWrapper(F("lease_until") - DatabaseNow(), output_field=DurationField()),
    )


def standing_of(command: Any) -> Standing:
    """Of a command read through `with_standing`."""
    match command.status:
        case CommandStatus.PENDING:
            return Standing.WAITING if command.is_due else Standing.LATER
        case CommandStatus.PROCESSING:
            return Standing.EXPIRED if command.is_expired else Standing.PROCESSING
        case CommandStatus.DELIVERED:
            return Standing.SUCCEEDED
    return Standing.FAILED


def describe(command: Any) -> SafeString:
    """The badge, and what an operator asks next: who has it, for how long, or when it is due."""
    standing = standing_of(command)
    return format_html('{} <span class="ob-note">{}</span>', standing.badge, _NEXT_QUESTION[standing](command))


_NEXT_QUESTION: Final[dict[Standing, Callable[[Any], Any]]] = {
    Standing.WAITING: lambda command: _ago(command.due_in),
    Standing.LATER: lambda command: _("in %(time)s") % {"time": duration(command.due_in)},
    Standing.PROCESSING: lambda command: _("by %(owner)s, %(time)s left") % _holder(command),
    Standing.EXPIRED: lambda command: _("%(time)s ago, was %(owner)s") % _holder(command),
    Standing.SUCCEEDED: lambda command: "",
    Standing.FAILED: lambda command: "",
}


def _ago(due_in: timedelta) -> Any:
    return _("for %(time)s") % {"time": duration(due_in)}


def _holder(command: Any) -> dict[str, str]:
    return {"owner": command.lease_owner, "time": duration(command.lease_left)}
