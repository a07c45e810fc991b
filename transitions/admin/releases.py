"""Plugin releases: read what a release brings, import one, trust one."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db import router, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from outbox.admin.acting import ActingAdmin
from outbox.admin.formats import badge, instant, when_and_who
from transitions.admin.actions import Trust
from transitions.admin.manifests import read_manifest
from transitions.errors import TransitionError
from transitions.manifests import MAX_BYTES
from transitions.models import PluginRelease
from transitions.releases import Imported, import_release


class ImportForm(forms.Form):
    """A manifest as a file."""

    file = forms.FileField(
        label=_("Manifest"), help_text=_("A TOML or JSON file."), allow_empty_file=True, max_length=200
    )

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(_("A manifest has at most %(most)s bytes.") % {"most": MAX_BYTES})
        return file


class TrustFilter(admin.SimpleListFilter):
    """Trusted or not."""

    title = _("trust")
    parameter_name = "trusted"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("trusted")), ("no", _("not trusted"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("yes", "no"):
            return queryset
        return queryset.filter(trusted_at__isnull=self.value() == "no")


@admin.register(PluginRelease)
class PluginReleaseAdmin(ActingAdmin):
    """Immutable rows; the actions are import (a page of its own) and trust."""

    list_display = ("version_of_plugin", "short_fingerprint", "trust", "importing")
    list_select_related = ("plugin",)
    list_filter = (TrustFilter,)
    search_fields = ("plugin__code", "version", "fingerprint__startswith")
    search_help_text = _("Plugin, version, or the beginning of a fingerprint")
    fieldsets = ((None, {"fields": ("plugin", "version", "full_fingerprint", "trust", "imported_by", "imported")}),)
    operator_actions = (Trust(),)
    refusals = (TransitionError,)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.import_view)
        return [path("import/", view, name=f"{self._url_prefix}_import"), *super().get_urls()]

    def detail_context(self, request: HttpRequest, obj: PluginRelease) -> dict[str, Any]:
        return {**super().detail_context(request, obj), "read": read_manifest(obj)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        may_import = self.may(request, "add_pluginrelease")
        return super().changelist_view(request, {**(extra_context or {}), "may_import": may_import})

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """The upload; on POST the import, whose refusals are errors of the form."""
        if not self.may(request, "add_pluginrelease"):
            raise PermissionDenied
        form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
        if request.method == "POST" and form.is_valid():
            try:
                return self._imported(request, form.cleaned_data["file"])
            except TransitionError as error:
                form.add_error("file", str(error))
        template = "admin/transitions/pluginrelease/import.html"
        return self.page(request, template, title=_("Import a plugin release"), form=form)

    def _imported(self, request: HttpRequest, file: UploadedFile) -> HttpResponse:
        service = partial(import_release, content=file.read(), file_name=file.name or "manifest")
        with transaction.atomic(using=router.db_for_write(PluginRelease)):
            imported = service(imported_by=request.user.get_username())
            if imported.created:
                self.log_addition(request, imported.release, f"Imported from {file.name}.")
        level = messages.SUCCESS if imported.created else messages.WARNING
        self.message_user(request, _import_message(imported), level)
        return self.redirect_to(request, imported.release)

    @admin.display(description=_("release"), ordering="plugin__code")
    def version_of_plugin(self, release: PluginRelease) -> str:
        return str(release)

    @admin.display(description=_("fingerprint"))
    def short_fingerprint(self, release: PluginRelease) -> SafeString:
        return format_html('<span class="ob-code ob-nowrap">{}…</span>', release.fingerprint[:12])

    @admin.display(description=_("fingerprint"))
    def full_fingerprint(self, release: PluginRelease) -> SafeString:
        return format_html('<span class="ob-code">{}</span>', release.fingerprint)

    @admin.display(description=_("trust"), ordering="trusted_at")
    def trust(self, release: PluginRelease) -> SafeString:
        if release.trusted_at is None:
            return badge("idle", _("not trusted"))
        when = when_and_who(release.trusted_at, release.trusted_by)
        return format_html("{} {}", badge("good", _("trusted")), when)

    @admin.display(description=_("imported"), ordering="imported_at")
    def importing(self, release: PluginRelease) -> SafeString:
        return when_and_who(release.imported_at, release.imported_by)

    @admin.display(description=_("imported at"))
    def imported(self, release: PluginRelease) -> str:
        return instant(release.imported_at)


def _import_message(imported: Imported) -> str:
    words = {"release": imported.release, "count": len(read_manifest(imported.release).contributions)}
    if not imported.created:
        return str(_("%(release)s was imported before, with the same content: nothing was changed.") % words)
    return str(_("%(release)s is imported with %(count)s contributions. It can be planned once it is trusted.") % words)
