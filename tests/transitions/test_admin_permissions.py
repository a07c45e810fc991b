"""The permission matrix: who may do what, and that nobody else does anything."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tests.transitions import scenes
from tests.transitions.operators import VIEW, operator
from transitions.models import Execution, OutboxCommand, PluginRelease, StepReceipt, Transition

pytestmark = pytest.mark.django_db


class Deed(NamedTuple):
    """One action on a scene where it is allowed: its URL, its right, and what a browser would post."""

    url: str
    right: str
    data: dict[str, Any]


def _act(name: str, right: str, obj: Any, seen: str = "") -> Deed:
    url = reverse(f"admin:transitions_{obj._meta.model_name}_{name}", args=[obj.pk])
    return Deed(url, right, {"seen": seen})


def _trust() -> Deed:
    release = scenes.imported()
    return _act("trust", "trust_pluginrelease", release, release.fingerprint)


def _import() -> Deed:
    file = SimpleUploadedFile("menu.json", scenes.manifest())
    return Deed(reverse("admin:transitions_pluginrelease_import"), "add_pluginrelease", {"file": file})


def _plan() -> Deed:
    scenes.planned()
    Transition.objects.all().delete()
    url = reverse("admin:transitions_transition_plan") + "?plugin=menu"
    return Deed(url, "add_transition", {"from_version": "", "to_version": "1.0.0"})


def _execute() -> Deed:
    return _act("execute", "execute_transition", scenes.planned(), "0")


def _retry() -> Deed:
    return _act("retry", "retry_transition", scenes.failed().transition, "1")


def _compensate() -> Deed:
    return _act("compensate", "compensate_transition", scenes.succeeded().transition, "1")


def _reconcile() -> Deed:
    return _act("reconcile", "reconcile_execution", scenes.silent())


def _reconcile_selected() -> Deed:
    data = {"action": "reconcile", "_selected_action": [scenes.silent().pk], "confirmed": "yes"}
    return Deed(reverse("admin:transitions_execution_changelist"), "reconcile_execution", data)


DEEDS = [_trust, _import, _plan, _execute, _retry, _compensate, _reconcile, _reconcile_selected]
RIGHTS = {
    "add_pluginrelease",
    "trust_pluginrelease",
    "add_transition",
    "execute_transition",
    "retry_transition",
    "compensate_transition",
    "reconcile_execution",
}
deeds = pytest.mark.parametrize("scene", DEEDS, ids=[deed.__name__.strip("_") for deed in DEEDS])


def everything() -> list[Any]:
    """All rows of the app and of the log: what nothing may have changed."""
    models = (PluginRelease, Transition, Execution, StepReceipt, OutboxCommand, LogEntry)
    return [list(model.objects.order_by("pk").values()) for model in models]


@deeds
def test_anonymous_is_sent_to_the_login(scene: Callable[[], Deed], client: Client) -> None:
    deed = scene()
    before = everything()
    for response in (client.get(deed.url), client.post(deed.url, deed.data)):
        assert response.status_code == 302
        assert response["Location"].startswith(reverse("admin:login"))
    assert everything() == before


@deeds
def test_staff_without_rights_is_refused(scene: Callable[[], Deed]) -> None:
    deed = scene()
    before = everything()
    client = operator()
    assert client.get(deed.url).status_code == 403
    assert client.post(deed.url, deed.data).status_code == 403
    assert everything() == before


@deeds
def test_every_right_but_the_one_is_refused(scene: Callable[[], Deed]) -> None:
    deed = scene()
    before = everything()
    client = operator(*VIEW, *(RIGHTS - {deed.right}))
    assert client.post(deed.url, deed.data).status_code == 403
    assert everything() == before


@deeds
def test_the_right_alone_with_view_is_enough(scene: Callable[[], Deed]) -> None:
    deed = scene()
    before = everything()
    client = operator(*VIEW, deed.right)
    assert client.post(deed.url, deed.data).status_code == 302
    after = everything()
    assert after[:-1] != before[:-1]
    assert len(after[-1]) == len(before[-1]) + 1  # one entry in the log


@deeds
def test_a_get_changes_nothing(scene: Callable[[], Deed]) -> None:
    deed = scene()
    before = everything()
    assert operator(*VIEW, deed.right).get(deed.url).status_code == 200
    assert everything() == before


@deeds
def test_a_post_without_the_csrf_token_is_refused(scene: Callable[[], Deed]) -> None:
    deed = scene()
    before = everything()
    client = operator(*VIEW, deed.right, enforce_csrf_checks=True)
    assert client.post(deed.url, deed.data).status_code == 403
    assert everything() == before


@pytest.mark.parametrize("right", ["execute", "retry", "compensate"])
def test_a_button_is_shown_only_to_who_may_press_it(right: str) -> None:
    execution = scenes.failed()
    url = reverse("admin:transitions_transition_change", args=[execution.transition_id])
    text = operator(*VIEW, f"{right}_transition").get(url).content.decode()
    shown = [name for name in ("Execute", "Retry", "Compensate") if f">{name}<" in text]
    assert shown == [right.title()]
    assert "What can be done" not in operator(*VIEW).get(url).content.decode()


def test_links_to_import_and_plan_need_their_rights() -> None:
    for model, right, name in (
        ("pluginrelease", "add_pluginrelease", "import"),
        ("transition", "add_transition", "plan"),
    ):
        url = reverse(f"admin:transitions_{model}_changelist")
        link = f'href="{reverse(f"admin:transitions_{model}_{name}")}"'
        assert link in operator(*VIEW, right).get(url).content.decode()
        assert link not in operator(*VIEW).get(url).content.decode()


def test_who_may_not_view_batches_is_led_back_to_the_transition() -> None:
    transition = scenes.planned()
    client = operator("view_transition", "execute_transition")
    url = reverse("admin:transitions_transition_execute", args=[transition.pk])
    response = client.post(url, {"seen": "0"})
    assert response["Location"] == reverse("admin:transitions_transition_change", args=[transition.pk])
