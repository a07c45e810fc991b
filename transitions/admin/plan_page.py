"""The page that plans a transition: first the plugin, then two of its trusted releases."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.db import router, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from transitions.errors import TransitionError
from transitions.models import Plugin, PluginRelease, Transition
from transitions.planning import plan_transition

if TYPE_CHECKING:
    from transitions.admin.transitions import TransitionAdmin

TEMPLATE = "admin/transitions/transition/plan.html"


class PluginForm(forms.Form):
    """Which plugin."""

    plugin = forms.ModelChoiceField(
        Plugin.objects.filter(releases__trusted_at__isnull=False).distinct(),
        to_field_name="code",
        label=_("Plugin"),
        help_text=_("Plugins that have a trusted release."),
    )


class ReleasesForm(forms.Form):
    """From which of a plugin's trusted releases to which."""

    from_version = forms.ChoiceField(label=_("From"), required=False)
    to_version = forms.ChoiceField(label=_("To"), required=False)

    def __init__(self, plugin: Plugin, *args: Any) -> None:
        super().__init__(*args)
        trusted = PluginRelease.objects.filter(plugin=plugin, trusted_at__isnull=False).order_by("-pk")
        versions = list(trusted.values_list("version", flat=True))
        choices = [("", _("nothing")), *((version, version) for version in versions)]
        for name in ("from_version", "to_version"):
            self.fields[name].choices = choices  # type: ignore[attr-defined]
        self.initial = {"to_version": versions[0] if versions else ""}


class PlanPage:
    """One request to the page. The caller has checked the permission."""

    def __init__(self, transition_admin: "TransitionAdmin", request: HttpRequest) -> None:
        self.admin = transition_admin
        self.request = request

    def response(self) -> HttpResponse:
        """The choice of a plugin, of its releases, or, on a POST that the service takes, the way to the transition."""
        chosen = PluginForm(self.request.GET) if "plugin" in self.request.GET else PluginForm()
        if not chosen.is_valid():
            return self._page(chosen, method="get")
        plugin: Plugin = chosen.cleaned_data["plugin"]
        form = ReleasesForm(plugin, *([self.request.POST] if self.request.method == "POST" else []))
        if form.is_valid():
            try:
                return self._planned(plugin, form.cleaned_data)
            except TransitionError as error:
                form.add_error(None, str(error))
        return self._page(form, method="post", plugin=plugin)

    def _page(self, form: forms.Form, **context: Any) -> HttpResponse:
        return self.admin.page(self.request, TEMPLATE, title=_("Plan a transition"), form=form, **context)

    def _planned(self, plugin: Plugin, versions: dict[str, str]) -> HttpResponse:
        request = self.request
        with transaction.atomic(using=router.db_for_write(Transition)):
            planned, created = plan_transition(
                plugin=plugin.code,
                from_version=versions["from_version"] or None,
                to_version=versions["to_version"] or None,
                planned_by=request.user.get_username(),
            )
            if created:
                self.admin.log_addition(request, planned, f"Planned with fingerprint {planned.plan_fingerprint}.")
        words = {"transition": planned, "steps": len(planned.plan.steps)}
        if created:
            text, level = _("%(transition)s is planned with %(steps)s steps. Nothing runs yet."), messages.SUCCESS
        else:
            text, level = _("%(transition)s was planned before: nothing was changed."), messages.WARNING
        self.admin.message_user(request, text % words, level)
        return self.admin.redirect_to(request, planned)
