"""Execute, retry, compensate, trust: the confirmation says what will happen, the message what did."""

import re

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.test import Client
from django.urls import reverse

from tests import factories
from tests.transitions import scenes
from tests.transitions.operators import VIEW, messages_of, operator
from transitions import coordinator
from transitions.coordinator import Failure
from transitions.models import Execution, PluginRelease, Transition
from transitions.states import Direction

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    rights = ("execute_transition", "retry_transition", "compensate_transition", "trust_pluginrelease")
    return operator(*VIEW, *rights)


def url(name: str, transition_id: int) -> str:
    return reverse(f"admin:transitions_transition_{name}", args=[transition_id])


def steps_on(text: str) -> list[str]:
    """The step keys of a confirmation page, in its order."""
    return re.findall(r'<th scope="row" class="ob-code">([^<]+)</th>', text)


def test_execute_lists_the_steps_in_order_and_the_executor(client: Client) -> None:
    text = client.get(url("execute", scenes.planned().pk)).content.decode()
    assert steps_on(text) == ["apply:step-1", "apply:step-2", "apply:step-3"]
    assert "dry-run:v1" in text
    assert "CREATE TABLE t2" in text
    assert "DROP TABLE" not in text


def test_execute_queues_logs_tells_and_shows_the_batch(client: Client) -> None:
    transition = scenes.planned()
    response = client.post(url("execute", transition.pk), {"seen": "0"}, follow=True)
    execution = Execution.objects.get()
    assert response.redirect_chain[-1][0] == reverse("admin:transitions_execution_change", args=[execution.pk])
    assert messages_of(response) == ["Batch #1 is queued: 3 steps for dry-run:v1. A worker will claim it."]
    assert execution.requested_by == response.context["user"].get_username()
    entry = LogEntry.objects.get()
    assert (entry.action_flag, entry.object_id) == (CHANGE, str(transition.pk))
    assert entry.get_change_message() == "Execute: queued batch #1, 3 steps, dry-run:v1."


def test_retry_lists_what_was_left_undone_with_its_last_error(client: Client) -> None:
    execution = scenes.failed()
    text = client.get(url("retry", execution.transition_id)).content.decode()
    assert steps_on(text) == ["apply:step-2", "apply:step-3"]
    assert "could not connect to" in text
    client.post(url("retry", execution.transition_id), {"seen": "1"})
    assert Execution.objects.get(number=2).attempt == 2


def test_compensate_lists_the_receipts_that_it_reverses_last_step_first(client: Client) -> None:
    execution = scenes.succeeded()
    text = client.get(url("compensate", execution.transition_id)).content.decode()
    assert steps_on(text) == ["apply:step-3", "apply:step-2", "apply:step-1"]
    assert "target:apply:step-2" in text
    assert "DROP TABLE t2" in text
    assert "CREATE TABLE" not in text
    client.post(url("compensate", execution.transition_id), {"seen": "1"})
    assert Execution.objects.get(number=2).direction == Direction.REVERSE


def test_compensate_shows_the_run_that_it_reverses_and_not_the_attempt_that_never_came_to_it(client: Client) -> None:
    """Step 2 may have happened in the first attempt; the second ended before it."""
    transition = scenes.failed(unknown=True).transition
    second = scenes.claimed(factories.retry(transition))
    coordinator.begin(second)
    coordinator.fail(second, None, Failure("deadline", "too late"))
    text = client.get(url("compensate", transition.pk)).content.decode()
    assert steps_on(text) == ["apply:step-2", "apply:step-1"]
    assert text.count("outcome unknown") == 1
    assert ">PENDING<" not in text


def test_a_step_without_reverse_is_named_before_anything_is_queued(client: Client) -> None:
    forward = {"statements": ["SELECT 1"]}
    transition = scenes.planned(contributions=[{"key": "one-way", "kind": "sql", "forward": forward}])
    scenes.completed(factories.execute(transition))
    text = client.get(url("compensate", transition.pk)).content.decode()
    assert "apply:one-way" in text
    assert 'type="submit" class="default"' not in text
    response = client.post(url("compensate", transition.pk), {"seen": "1"}, follow=True)
    assert "apply:one-way" in messages_of(response)[0]
    assert Execution.objects.count() == 1


@pytest.mark.parametrize(
    ("scene", "refused"),
    [
        (scenes.planned, {"Retry": "it was never executed", "Compensate": "it was never executed"}),
        (scenes.queued, dict.fromkeys(("Execute", "Retry", "Compensate"), "is QUEUED already")),
        (scenes.processing, dict.fromkeys(("Execute", "Retry", "Compensate"), "is RUNNING already")),
        (scenes.failed, {"Execute": "retry or compensate it"}),
        (scenes.succeeded, {"Execute": "it is executed already", "Retry": "did not fail"}),
        (scenes.compensated, {"Retry": "did not fail", "Compensate": "it is compensated already"}),
    ],
)
def test_a_button_that_the_state_does_not_allow_is_disabled_and_says_why(client: Client, scene, refused) -> None:
    made = scene()
    pk = made.pk if isinstance(made, Transition) else made.transition_id
    text = client.get(url("change", pk)).content.decode()
    reasons = dict(re.findall(r"disabled>(\w+)</button>\s*<span[^>]*>([^<]+)<", text))
    assert reasons.keys() == refused.keys()
    assert all(refused[name] in reasons[name] for name in refused)


def test_what_the_state_does_not_allow_is_refused_by_the_service(client: Client) -> None:
    execution = scenes.succeeded()
    response = client.post(url("execute", execution.transition_id), {"seen": "1"}, follow=True)
    assert messages_of(response) == [
        "can't execute this transition: it is executed already: compensate it before it can run again"
    ]
    assert (Execution.objects.count(), LogEntry.objects.count()) == (1, 0)


def test_a_second_press_queues_nothing(client: Client) -> None:
    transition = scenes.planned()
    client.post(url("execute", transition.pk), {"seen": "0"})
    response = client.post(url("execute", transition.pk), {"seen": "0"}, follow=True)
    assert "Nothing was done: things changed" in messages_of(response)[-1]
    assert Execution.objects.count() == 1


def test_what_changed_since_the_confirmation_is_not_done(client: Client) -> None:
    """The page showed the receipts of one batch; meanwhile there is another."""
    execution = scenes.compensated()
    response = client.post(url("execute", execution.transition_id), {"seen": "1"}, follow=True)
    assert "things changed" in messages_of(response)[0]
    assert Execution.objects.count() == 2


def test_an_unknown_object_is_not_found(client: Client) -> None:
    for pk in (1, 10**30):
        assert client.get(url("execute", pk)).status_code == 404


def test_trust_shows_fingerprint_and_contributions_and_is_logged(client: Client) -> None:
    release = scenes.imported()
    trust = reverse("admin:transitions_pluginrelease_trust", args=[release.pk])
    text = client.get(trust).content.decode()
    assert release.fingerprint in text
    assert steps_on(text) == ["step-1", "step-2", "step-3"]
    response = client.post(trust, {"seen": release.fingerprint}, follow=True)
    assert messages_of(response) == ["menu 1.0.0 is trusted: it can be planned now."]
    assert PluginRelease.objects.get().trusted_by == response.context["user"].get_username()
    assert release.fingerprint in LogEntry.objects.get().get_change_message()


def test_trust_is_refused_for_a_changed_manifest(client: Client) -> None:
    release = scenes.imported()
    PluginRelease.objects.update(manifest=release.manifest + " ")
    trust = reverse("admin:transitions_pluginrelease_trust", args=[release.pk])
    response = client.post(trust, {"seen": release.fingerprint}, follow=True)
    assert "does not match its fingerprint" in messages_of(response)[0]
    assert PluginRelease.objects.get().trusted_at is None
