"""What the pages say of an execution, one method a column or field."""

from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from outbox.admin.formats import duration, instant, visible, when_and_who
from transitions.admin.standing import Standing, describe, standing_of
from transitions.models import Execution

NONE = "–"  # Django writes "None" for a field that a method leaves empty


class ExecutionColumns:
    """For an admin whose rows come from `rows.executions`."""

    @admin.display(description=_("batch"), ordering="-pk")
    def batch(self, execution: Execution) -> str:
        return f"{execution.pk} · {execution.transition} · #{execution.number}"

    @admin.display(description=_("state"))
    def state(self, execution: Execution) -> SafeString:
        return describe(execution.command)

    @admin.display(description=_("steps done"))
    def progress(self, execution: Any) -> SafeString:
        done, total = execution.steps_done, execution.steps_in_all
        words = format_html("{}/{}", done, total)
        return format_html('<progress class="ob-progress" value="{}" max="{}"></progress> {}', done, total or 1, words)

    @admin.display(description=_("deliveries"))
    def deliveries(self, execution: Execution) -> int:
        return execution.command.delivery_count

    @admin.display(description=_("run"))
    def run(self, execution: Execution) -> str:
        deliveries = execution.command.delivery_count
        words = {"direction": execution.direction, "attempt": execution.attempt, "deliveries": deliveries}
        text = ngettext(
            "%(direction)s, attempt %(attempt)s, %(deliveries)s delivery",
            "%(direction)s, attempt %(attempt)s, %(deliveries)s deliveries",
            deliveries,
        )
        return text % words

    @admin.display(description=_("requested"), ordering="requested_at")
    def asked_for(self, execution: Execution) -> SafeString:
        """For the narrow column of the list."""
        return when_and_who(execution.requested_at, execution.requested_by)

    @admin.display(description=_("requested"))
    def requested(self, execution: Execution) -> str:
        words = {"when": instant(execution.requested_at), "who": execution.requested_by}
        return str(_("%(when)s by %(who)s") % words)

    @admin.display(description=_("transition"))
    def transition_link(self, execution: Execution) -> SafeString:
        url = reverse("admin:transitions_transition_change", args=[execution.transition_id])
        return format_html('<a href="{}">{}</a>', url, execution.transition)

    @admin.display(description=_("started at"))
    def started(self, execution: Execution) -> str:
        return instant(execution.started_at) or NONE

    @admin.display(description=_("finished at"))
    def finished(self, execution: Execution) -> str:
        return instant(execution.finished_at) or NONE

    @admin.display(description=_("command"))
    def command_status(self, execution: Execution) -> str:
        return execution.command.status

    @admin.display(description=_("lease"))
    def lease(self, execution: Any) -> str:
        """Who holds it until when; of a row that nobody holds, who held it last."""
        command = execution.command
        if command.lease_until is None:
            last = _("none; last held by %(owner)s") % {"owner": command.lease_owner}
            return str(last) if command.lease_owner else NONE
        left = _("%(time)s ago") if standing_of(command) is Standing.EXPIRED else _("%(time)s left")
        words = left % {"time": duration(command.lease_left)}
        return f"{command.lease_owner}, {_('until')} {instant(command.lease_until)} ({words})"

    @admin.display(description=_("available at"))
    def available(self, execution: Execution) -> str:
        return instant(execution.command.available_at)

    @admin.display(description=_("last error"))
    def last_error(self, execution: Execution) -> str:
        error = execution.command.last_error
        return format_html('<pre class="ob-pre">{}</pre>', visible(error)) if error else NONE
