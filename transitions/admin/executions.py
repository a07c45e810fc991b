"""Executions: what waits, what is under way and for how long, what ended how; reconcile what went silent."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from outbox.admin.acting import ActingAdmin
from outbox.admin.formats import readable_json
from transitions.admin import rows
from transitions.admin.actions import Reconcile
from transitions.admin.bulk import ReconcileSelected
from transitions.admin.execution_columns import ExecutionColumns
from transitions.errors import TransitionError
from transitions.models import Execution, StepReceipt

KEY_LENGTH = 64


@admin.register(Execution)
class ExecutionAdmin(ExecutionColumns, ActingAdmin):
    """Batches; the one action is reconcile, on the list and on the page of each."""

    list_display = ("batch", "state", "progress", "run", "asked_for")
    list_filter = ("status", "direction")
    search_fields = ("transition__plugin__code",)
    search_help_text = _("Plugin, number of an execution, or a whole idempotency key")
    actions = ("reconcile",)
    fieldsets = (
        (
            _("Batch"),
            {
                "fields": (
                    "transition_link",
                    "direction",
                    ("cycle", "attempt"),
                    "executor_code",
                    "requested",
                    "started",
                    "finished",
                )
            },
        ),
        (
            _("Outbox"),
            {"fields": ("state", "progress", "command_status", "deliveries", "lease", "available", "last_error")},
        ),
    )
    operator_actions = (Reconcile(),)
    refusals = (TransitionError,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Execution]:
        return rows.executions()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By what an index answers: a key is looked up whole."""
        term = search_term.strip().lower()
        if not term:
            return queryset, False
        if len(term) == KEY_LENGTH:
            return queryset.filter(pk__in=StepReceipt.objects.filter(idempotency_key=term).values("execution")), False
        by_number = Q(pk=term) if term.isascii() and term.isdigit() else Q()
        return queryset.filter(by_number | Q(transition__plugin__code__contains=term)), False

    def has_reconcile_permission(self, request: HttpRequest) -> bool:
        return self.may(request, Reconcile.permission)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if "reconcile" in request.POST.getlist("action") and not self.has_reconcile_permission(request):
            raise PermissionDenied
        return super().changelist_view(request, extra_context)

    @admin.action(description=_("Reconcile selected batches"), permissions=["reconcile"])
    def reconcile(self, request: HttpRequest, queryset: QuerySet[Execution]) -> HttpResponse | None:
        return ReconcileSelected(self, request, queryset).response()

    def detail_context(self, request: HttpRequest, obj: Execution) -> dict[str, Any]:
        receipts = list(obj.receipts.order_by("position"))
        return {
            **super().detail_context(request, obj),
            "receipts": [(receipt, readable_json(receipt.target_details)) for receipt in receipts],
            "executions": [execution for execution in rows.history_of(obj.transition) if execution.pk != obj.pk],
            "history_length": rows.HISTORY_LENGTH,
        }
