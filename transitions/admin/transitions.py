"""Transitions: the plan step by step, what became of it, and the batches that may be queued now."""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from outbox.admin.acting import ActingAdmin
from outbox.admin.formats import badge, instant, when_and_who
from transitions.admin import rows
from transitions.admin.actions import QUEUE_BATCH
from transitions.admin.plan_page import PlanPage
from transitions.admin.previews import latest_receipts
from transitions.admin.standing import describe
from transitions.contributions import verified_plan
from transitions.errors import TransitionError
from transitions.history import History
from transitions.models import StepReceipt, Transition
from transitions.plans import PlanStep


@dataclass(frozen=True)
class PlanRow:
    """A step of the plan and its newest receipt in the current cycle."""

    step: PlanStep
    receipt: StepReceipt | None


@admin.register(Transition)
class TransitionAdmin(ActingAdmin):
    """Immutable plans; the actions are plan (a page of its own), execute, retry and compensate."""

    list_display = ("way", "last_batch", "last_batch_state", "planning")
    search_fields = ("plugin__code", "plan_fingerprint__startswith")
    search_help_text = _("Plugin, or the beginning of a plan's fingerprint")
    fieldsets = ((None, {"fields": ("plugin", "from_to", "fingerprint", "uid", "planned_by", "planned")}),)
    operator_actions = QUEUE_BATCH
    refusals = (TransitionError,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Transition]:
        return rows.transitions()

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.plan_view)
        return [path("plan/", view, name=f"{self._url_prefix}_plan"), *super().get_urls()]

    def plan_view(self, request: HttpRequest) -> HttpResponse:
        if not self.may(request, "add_transition"):
            raise PermissionDenied
        return PlanPage(self, request).response()

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        may_plan = self.may(request, "add_transition")
        return super().changelist_view(request, {**(extra_context or {}), "may_plan": may_plan})

    def detail_context(self, request: HttpRequest, obj: Transition) -> dict[str, Any]:
        return {
            **super().detail_context(request, obj),
            **_plan_context(obj),
            "executions": rows.history_of(obj),
            "history_length": rows.HISTORY_LENGTH,
        }

    @admin.display(description=_("transition"), ordering="-pk")
    def way(self, transition: Transition) -> str:
        return f"{transition.pk} · {transition}"

    @admin.display(description=_("from → to"))
    def from_to(self, transition: Transition) -> str:
        ends = (transition.from_release, transition.to_release)
        return " → ".join(release.version if release else str(_("nothing")) for release in ends)

    @admin.display(description=_("last batch"), empty_value="–")
    def last_batch(self, transition: Any) -> str | None:
        latest = transition.latest
        return f"#{latest[0].number} {latest[0].get_direction_display().lower()}" if latest else None

    @admin.display(description=_("its state"))
    def last_batch_state(self, transition: Any) -> SafeString:
        return describe(transition.latest[0].command) if transition.latest else badge("idle", _("never executed"))

    @admin.display(description=_("plan fingerprint"))
    def fingerprint(self, transition: Transition) -> SafeString:
        return format_html('<span class="ob-code">{}</span>', transition.plan_fingerprint)

    @admin.display(description=_("planned"), ordering="planned_at")
    def planning(self, transition: Transition) -> SafeString:
        return when_and_who(transition.planned_at, transition.planned_by)

    @admin.display(description=_("planned at"))
    def planned(self, transition: Transition) -> str:
        return instant(transition.planned_at)


def _plan_context(transition: Transition) -> dict[str, Any]:
    """The plan with receipts; a plan that is not what was planned is a problem, not a page that fails."""
    history = History.of(transition)
    try:
        plan = verified_plan(transition)
    except TransitionError as error:
        return {"problem": str(error), "cycle": history.cycle}
    receipts = latest_receipts(history)
    return {"plan": [PlanRow(step, receipts.get(step.key)) for step in plan.steps], "cycle": history.cycle}
