"""A model's pages as a window: everything is shown, nothing can be added, edited or deleted."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.db.models import Model
from django.http import HttpRequest, HttpResponse


class ReadOnlyAdmin(admin.ModelAdmin):
    """Shows rows and changes none, whoever asks: a superuser's POST is refused like anybody's."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 200

    class Media:
        css = {"all": ["outbox/admin.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return flatten_fieldsets(self.get_fieldsets(request, obj))

    def detail_context(self, request: HttpRequest, obj: Any) -> dict[str, Any]:
        """What the detail template shows beyond the fields."""
        return {}

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        if kwargs.get("obj") is not None:
            context |= self.detail_context(request, kwargs["obj"])
        return super().render_change_form(request, context, *args, **kwargs)
