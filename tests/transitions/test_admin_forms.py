"""Import and plan: two pages with a form, whose refusals are the form's errors."""

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tests.transitions import scenes
from tests.transitions.operators import VIEW, messages_of, operator
from transitions.manifests import MAX_BYTES
from transitions.models import PluginRelease, Transition
from transitions.releases import trust_release

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return operator(*VIEW, "add_pluginrelease", "add_transition")


def upload(client: Client, content: bytes, name: str = "menu.json"):
    file = SimpleUploadedFile(name, content)
    return client.post(reverse("admin:transitions_pluginrelease_import"), {"file": file}, follow=True)


def plan(client: Client, from_version: str, to_version: str, plugin: str = "menu"):
    url = reverse("admin:transitions_transition_plan") + f"?plugin={plugin}"
    return client.post(url, {"from_version": from_version, "to_version": to_version}, follow=True)


def test_an_import_leads_to_the_untrusted_release_and_is_logged(client: Client) -> None:
    response = upload(client, scenes.manifest())
    release = PluginRelease.objects.get()
    assert response.redirect_chain[-1][0] == reverse("admin:transitions_pluginrelease_change", args=[release.pk])
    assert messages_of(response) == [
        "menu 1.0.0 is imported with 3 contributions. It can be planned once it is trusted."
    ]
    assert release.trusted_at is None
    assert release.imported_by == response.context["user"].get_username()
    assert LogEntry.objects.get().action_flag == ADDITION


def test_the_same_import_again_changes_nothing(client: Client) -> None:
    upload(client, scenes.manifest())
    response = upload(client, scenes.manifest())
    assert "imported before, with the same content" in messages_of(response)[0]
    assert (PluginRelease.objects.count(), LogEntry.objects.count()) == (1, 1)


@pytest.mark.parametrize(
    ("content", "name", "error"),
    [
        (b"", "menu.json", "menu.json"),
        (b"{", "menu.json", "menu.json"),
        (b"plugin = ", "menu.toml", "menu.toml"),
        (b"\xff\xfe", "menu.json", "utf-8"),
        (b'{"plugin": "Menu <b>"}', "menu.json", "plugin: String should match"),
        (b" " * (MAX_BYTES + 1), "menu.json", "at most"),
        (b'{"plugin": "a", "plugin": "b"}', "menu.json", "stands twice"),
    ],
)
def test_a_bad_manifest_is_an_error_of_the_form(client: Client, content: bytes, name: str, error: str) -> None:
    response = upload(client, content, name)
    assert response.status_code == 200
    assert error in response.context["form"].errors["file"][0]
    assert PluginRelease.objects.count() == 0


def test_another_content_for_an_imported_version_is_an_error_of_the_form(client: Client) -> None:
    upload(client, scenes.manifest())
    response = upload(client, scenes.manifest(steps=4))
    assert "needs a new version" in response.context["form"].errors["file"][0]


def test_a_missing_file_is_an_error_of_the_form(client: Client) -> None:
    response = client.post(reverse("admin:transitions_pluginrelease_import"))
    assert response.context["form"].errors["file"] == ["This field is required."]


def test_a_plan_leads_to_the_transition_and_is_logged(client: Client) -> None:
    scenes.imported()
    trust_release(plugin="menu", version="1.0.0", trusted_by="x")
    response = plan(client, "", "1.0.0")
    transition = Transition.objects.get()
    assert response.redirect_chain[-1][0] == reverse("admin:transitions_transition_change", args=[transition.pk])
    assert messages_of(response) == ["menu: nothing → 1.0.0 is planned with 3 steps. Nothing runs yet."]
    assert LogEntry.objects.get().action_flag == ADDITION


def test_the_same_plan_again_changes_nothing(client: Client) -> None:
    scenes.planned()
    response = plan(client, "", "1.0.0")
    assert "was planned before" in messages_of(response)[0]
    assert (Transition.objects.count(), LogEntry.objects.count()) == (1, 0)


def test_only_trusted_releases_can_be_chosen(client: Client) -> None:
    scenes.planned()
    scenes.imported(version="2.0.0")
    response = plan(client, "1.0.0", "2.0.0")
    assert "Select a valid choice" in response.context["form"].errors["to_version"][0]


def test_a_plan_that_leads_nowhere_is_an_error_of_the_form(client: Client) -> None:
    scenes.planned()
    response = plan(client, "1.0.0", "1.0.0")
    assert "from one release to another" in response.context["form"].non_field_errors()[0]


def test_an_unknown_plugin_is_an_error_of_the_form(client: Client) -> None:
    response = plan(client, "", "1.0.0", plugin="unknown")
    assert response.status_code == 200
    assert "plugin" in response.context["form"].errors
    assert Transition.objects.count() == 0
