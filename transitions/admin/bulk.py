"""Reconcile a selection of batches: a page that says what will happen, then one service call a batch, then a count."""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from outbox.admin.acting import Done
from transitions.admin.actions import RECOVERED_LOG
from transitions.errors import LeaseActive, TransitionError
from transitions.models import Execution
from transitions.reconciliation import Reconciled, reconcile_execution
from transitions.states import ACTIVE

if TYPE_CHECKING:
    from transitions.admin.executions import ExecutionAdmin

MOST = 500  # batches at once; a form may have 1000 fields
NAMED = 5  # refused batches that the message names


class ReconcileSelected:
    """One request of the list's action: the confirmation page, or, once confirmed, the deed. Permission was checked."""

    def __init__(self, execution_admin: "ExecutionAdmin", request: HttpRequest, queryset: QuerySet[Execution]) -> None:
        self.admin = execution_admin
        self.request = request
        self.queryset = queryset

    def response(self) -> HttpResponse | None:
        """A page to confirm; None, and a message on its way, when all is done (the list shows it)."""
        selected = list(self.queryset[: MOST + 1])
        if len(selected) > MOST:
            text = _("Nothing was done: at most %(most)s batches at once. Filter the list first.")
            self.admin.message_user(self.request, text % {"most": MOST}, messages.ERROR)
            return None
        if "confirmed" not in self.request.POST:
            return self._confirmation(selected)
        self._reconcile(selected)
        return None

    def _confirmation(self, selected: list[Execution]) -> HttpResponse:
        active = [execution for execution in selected if execution.status in ACTIVE]
        context: dict[str, Any] = {
            "batches": active,
            "selected": selected,
            "terminal": len(selected) - len(active),
            "checkbox": ACTION_CHECKBOX_NAME,
            "refusal": None if active else _("none of the selected batches is queued or running"),
        }
        template = "admin/transitions/execution/confirm_reconcile.html"
        return self.admin.page(self.request, template, title=_("Reconcile selected batches"), **context)

    def _reconcile(self, selected: list[Execution]) -> None:
        counted: Counter[Reconciled] = Counter()
        refused: list[str] = []
        for execution in selected:
            if execution.status not in ACTIVE:
                counted[Reconciled.TERMINAL] += 1
                continue
            try:
                counted[self._reconcile_one(execution)] += 1
            except LeaseActive as error:
                refused.append(f"{execution.pk} by {error.owner} for {error.seconds_left:.0f} s")
            except TransitionError as error:
                refused.append(f"{execution.pk}: {error}")
        level = messages.SUCCESS if counted[Reconciled.RECOVERED] and not refused else messages.WARNING
        self.admin.message_user(self.request, summary(counted, refused), level)

    def _reconcile_one(self, execution: Execution) -> Reconciled:
        """In a transaction of its own, with its log entry: one that is refused undoes no other."""
        results: list[Reconciled] = []
        self.admin.logged(self.request, execution, partial(self._perform, execution, results))
        return results[0]

    def _perform(self, execution: Execution, results: list[Reconciled]) -> Done:
        by = self.request.user.get_username()
        results.append(reconcile_execution(execution_id=execution.pk, requested_by=by).result)
        return Done("", RECOVERED_LOG if results[0] is Reconciled.RECOVERED else "", execution)


def summary(counted: Counter[Reconciled], refused: list[str]) -> str:
    """What was done, and what was not and why, each with its number."""
    sentences = [_("%(n)s recovered") % {"n": counted[Reconciled.RECOVERED]}]
    if n := counted[Reconciled.ALREADY_WAITING]:
        sentences.append(_("%(n)s already waiting") % {"n": n})
    if refused:
        more = ", …" if len(refused) > NAMED else ""
        words = {"n": len(refused), "which": ", ".join(refused[:NAMED]) + more}
        sentences.append(_("%(n)s refused because leased (%(which)s)") % words)
    if n := counted[Reconciled.TERMINAL]:
        sentences.append(
            ngettext("%(n)s skipped because it has ended", "%(n)s skipped because they have ended", n) % {"n": n}
        )
    return "; ".join(sentences) + "."
