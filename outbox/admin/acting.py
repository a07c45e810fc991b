"""What an operator may do to one object: button, confirmation, service, log entry, message.

A GET shows the confirmation and changes nothing. A POST calls the service; what the service wrote and its entry in the
admin's log land together or not at all.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from outbox.admin.read_only import ReadOnlyAdmin


@dataclass(frozen=True)
class Done:
    """What a service did: for the operator, for the log, and which object to look at next."""

    message: str
    log: str
    show: Model
    level: int = messages.SUCCESS


@dataclass(frozen=True)
class Button:
    """An action as the detail page offers it; one with a ``refusal`` can't be pressed now, and says why."""

    label: str
    url: str
    refusal: str | None


class OperatorAction(ABC):
    """One action: its place in the URL, its permission, its words, and the service behind it."""

    name: ClassVar[str]
    permission: ClassVar[str]  # codename, of the app of the model
    label: ClassVar[Any]
    template: ClassVar[str] = "admin/outbox/confirmation.html"

    @abstractmethod
    def refusal(self, obj: Any) -> str | None:
        """Why the object's state does not allow the action now; None where it does."""

    def seen(self, obj: Any) -> str:
        """What must be the same at the POST as it was on the confirmation page."""
        return ""

    def preview(self, obj: Any) -> dict[str, Any]:
        """What the confirmation page says; a key ``refusal`` takes its button away."""
        return {"refusal": self.refusal(obj)}

    @abstractmethod
    def perform(self, obj: Any, username: str) -> Done:
        """Call the service. Raises one of the admin's ``refusals``, and then nothing was written."""


class ActingAdmin(ReadOnlyAdmin):
    """A read-only admin whose objects operators may act on."""

    operator_actions: ClassVar[Sequence[OperatorAction]] = ()
    refusals: ClassVar[tuple[type[Exception], ...]] = ()

    def get_urls(self) -> list[URLPattern]:
        return [*(self._action_url(action) for action in self.operator_actions), *super().get_urls()]

    def _action_url(self, action: OperatorAction) -> URLPattern:
        view = self.admin_site.admin_view(require_http_methods(["GET", "HEAD", "POST"])(partial(self.act, action)))
        return path(f"<int:pk>/{action.name}/", view, name=f"{self._url_prefix}_{action.name}")

    @property
    def _url_prefix(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"

    def detail_context(self, request: HttpRequest, obj: Any) -> dict[str, Any]:
        return {"buttons": self.buttons(request, obj)}

    def buttons(self, request: HttpRequest, obj: Any) -> list[Button]:
        """The actions that this person may take: an action without the permission is not shown at all."""
        allowed = [action for action in self.operator_actions if self.may(request, action.permission)]
        return [Button(action.label, self._url_of(action, obj), action.refusal(obj)) for action in allowed]

    def _url_of(self, action: OperatorAction, obj: Any) -> str:
        return reverse(f"{self.admin_site.name}:{self._url_prefix}_{action.name}", args=[obj.pk])

    def may(self, request: HttpRequest, permission: str) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.{permission}")

    def act(self, action: OperatorAction, request: HttpRequest, pk: int) -> HttpResponse:
        """Confirm, then do. 403 without the permission, 404 without the object."""
        if not (self.may(request, action.permission) and self.has_view_permission(request)):
            raise PermissionDenied
        obj = self.get_object(request, str(pk))
        if obj is None:
            raise Http404
        return self._do(action, request, obj) if request.method == "POST" else self._confirm(action, request, obj)

    def _confirm(self, action: OperatorAction, request: HttpRequest, obj: Any) -> HttpResponse:
        context = {"object": obj, "action_label": action.label, "seen": action.seen(obj), **action.preview(obj)}
        return self.page(request, action.template, title=f"{action.label}: {obj}", **context)

    def _do(self, action: OperatorAction, request: HttpRequest, obj: Any) -> HttpResponse:
        if request.POST.get("seen") != action.seen(obj):
            message = _("Nothing was done: things changed since the page was made. This is how they are now.")
            self.message_user(request, message, messages.WARNING)
            return HttpResponseRedirect(self._url_of(action, obj))
        try:
            done = self.logged(request, obj, partial(action.perform, obj, request.user.get_username()))
        except self.refusals as error:
            self.message_user(request, str(error), messages.ERROR)
            return self.redirect_to(request, obj)
        self.message_user(request, done.message, done.level)
        return self.redirect_to(request, done.show, otherwise=obj)

    def logged(self, request: HttpRequest, obj: Any, perform: Any) -> Done:
        """Perform, and log it on the object, in one transaction."""
        with transaction.atomic(using=router.db_for_write(self.model)):
            done: Done = perform()
            if done.log:
                self.log_change(request, obj, done.log)
        return done

    def page(self, request: HttpRequest, template: str, **context: Any) -> HttpResponse:
        """A page of its own within the admin."""
        shared = {**self.admin_site.each_context(request), "opts": self.opts, "media": self.media}
        return TemplateResponse(request, template, {**shared, **context})

    def redirect_to(self, request: HttpRequest, obj: Model, otherwise: Model | None = None) -> HttpResponseRedirect:
        """To the object's page, or to the nearest one that this person may see."""
        for candidate in (obj, otherwise):
            if candidate is not None and request.user.has_perm(_view_permission(candidate)):
                name = f"{self.admin_site.name}:{candidate._meta.app_label}_{candidate._meta.model_name}_change"
                return HttpResponseRedirect(reverse(name, args=[candidate.pk]))
        return HttpResponseRedirect(reverse(f"{self.admin_site.name}:index"))


def _view_permission(obj: Model) -> str:
    return f"{obj._meta.app_label}.view_{obj._meta.model_name}"
