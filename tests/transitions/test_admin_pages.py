"""Every page, with data in every state: it renders, shows what is asked of it, escapes data, and changes nothing."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.transitions import scenes
from tests.transitions.operators import VIEW, operator
from transitions.models import Execution, PluginRelease, Transition

pytestmark = pytest.mark.django_db

MODELS = ("pluginrelease", "transition", "execution")


def text_of(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def page(client, model: str, pk: int | None = None) -> str:
    name = f"admin:transitions_{model}_{'changelist' if pk is None else 'change'}"
    return text_of(client.get(reverse(name, args=[] if pk is None else [pk])))


def test_lists_show_the_standing_of_each_batch() -> None:
    scenes.every_state()
    client = operator(*VIEW)
    for model in ("execution", "transition"):
        text = re.sub(r"\s+", " ", page(client, model))
        for words in ("waiting", "due later", "processing", "lease expired", "succeeded", "failed"):
            assert re.search(rf'class="ob-badge ob-\w+">{words}<', text)
        assert re.search(r"in 1[45] min", text)
        assert re.search(r"by worker-a, (59 min|1 h)[^<]* left", text)
        assert "ago, was worker-a" in text


@pytest.mark.parametrize("state", ["succeeded", "failed", "compensated", "processing", "later", "silent", "waiting"])
def test_details_render_in_every_state(state: str) -> None:
    execution = scenes.every_state()[state]
    client = operator(*VIEW)
    text = page(client, "execution", execution.pk)
    for receipt in execution.receipts.all():
        assert receipt.idempotency_key in text
        assert receipt.step_key in text
    assert ">None<" not in text
    text = page(client, "transition", execution.transition_id)
    assert text.count(">apply</td>") == 3
    assert reverse("admin:transitions_execution_change", args=[execution.pk]) in text


def test_empty_lists_render() -> None:
    client = operator(*VIEW)
    for model in MODELS:
        page(client, model)


def test_a_batch_shows_receipts_error_lease_and_other_attempts() -> None:
    execution = scenes.failed(unknown=True)
    text = page(operator(*VIEW), "execution", execution.pk)
    assert "outcome unknown" in text
    assert "executor_error" in text
    assert "target:apply:step-1" in text
    assert "none; last held by worker-a" in text
    assert "This is the only one." in text


def test_a_held_batch_shows_owner_deadline_and_seconds_left_by_the_database_clock() -> None:
    execution = scenes.processing()
    text = page(operator(*VIEW), "execution", execution.pk)
    assert re.search(r"worker-a, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \((59 min|1 h)[^)]* left\)", text)


def test_a_transition_says_which_receipts_of_the_current_cycle_are_the_latest() -> None:
    execution = scenes.compensated()
    text = page(operator(*VIEW), "transition", execution.transition_id)
    assert "receipts of cycle 1" in text
    assert text.count(">reverse, <a") == 3


def test_a_release_shows_contributions_one_by_one_and_what_was_left_out() -> None:
    release = scenes.imported(left_out=[{"key": "menu.0002", "what": f"RunPython {scenes.MARKUP}"}])
    text = page(operator(*VIEW), "pluginrelease", release.pk)
    assert "CREATE TABLE t1 (id int); --" in text
    assert "DROP TABLE t3" in text
    assert "menu.0002" in text
    assert release.fingerprint in text


def test_a_payload_hides_no_character() -> None:
    forward = {"statements": ["SELECT 'abc\u202egnp.exe\u200b'"]}
    release = scenes.imported(contributions=[{"key": "a", "kind": "sql", "forward": forward}])
    text = page(operator(*VIEW), "pluginrelease", release.pk)
    assert "abc\\u202egnp.exe\\u200b" in text
    assert "\u202e" not in text
    assert "cannot be undone" in text


def test_what_was_changed_behind_our_back_is_shown_as_such() -> None:
    execution = scenes.succeeded()
    PluginRelease.objects.update(manifest="{")
    Transition.objects.update(plan_text="{")
    client = operator(*VIEW, "trust_pluginrelease", "compensate_transition")
    assert "does not match its fingerprint" in page(client, "pluginrelease", PluginRelease.objects.get().pk)
    assert "does not match its fingerprint" in page(client, "transition", execution.transition_id)
    url = reverse("admin:transitions_transition_compensate", args=[execution.transition_id])
    assert "does not match its fingerprint" in text_of(client.get(url))


def test_markup_in_data_is_escaped_everywhere() -> None:
    execution = scenes.failed()
    rights = ("retry_transition", "compensate_transition")
    client = operator(*VIEW, *rights)
    pages = [page(client, model) for model in MODELS]
    pages += [page(client, "execution", execution.pk), page(client, "transition", execution.transition_id)]
    pages += [page(client, "pluginrelease", PluginRelease.objects.get().pk)]
    names = [f"admin:transitions_transition_{right.split('_')[0]}" for right in rights]
    pages += [text_of(client.get(reverse(name, args=[execution.transition_id]))) for name in names]
    assert not any("<script>alert" in text for text in pages)
    assert sum("&lt;script&gt;alert" in text for text in pages) == 4  # release, transition, batch, retry


def test_no_page_holds_inline_script_or_style() -> None:
    execution = scenes.failed()
    client = operator(*VIEW, "retry_transition", "trust_pluginrelease", "add_pluginrelease", "add_transition")
    pages = [page(client, model) for model in MODELS]
    pages += [page(client, "execution", execution.pk), page(client, "transition", execution.transition_id)]
    for name in ("pluginrelease_import", "transition_plan"):
        pages.append(text_of(client.get(reverse(f"admin:transitions_{name}"))))
    for text in pages:
        assert not re.search(r"<style|<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=", text)


@pytest.mark.parametrize("model", MODELS)
def test_the_number_of_queries_is_the_same_for_5_and_20_rows(model: str) -> None:
    client = operator(*VIEW, "reconcile_execution")
    counts = []
    for rows in (range(5), range(5, 20)):
        for number in rows:
            scenes.queued(f"menu-{number}")
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page(client, model)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 12


@pytest.mark.parametrize("filters", ["status__exact=FAILED", "direction__exact=forward", "q=failed"])
def test_executions_can_be_filtered_and_searched(filters: str) -> None:
    scenes.failed("failed")
    text = text_of(operator(*VIEW).get(reverse("admin:transitions_execution_changelist") + "?" + filters))
    assert "1 execution" in text


def test_an_execution_is_found_by_number_and_by_whole_idempotency_key() -> None:
    wanted, other = scenes.queued("one"), scenes.queued("two")
    client = operator(*VIEW)
    for term in (str(wanted.pk), wanted.receipts.first().idempotency_key, "one"):
        text = text_of(client.get(reverse("admin:transitions_execution_changelist"), {"q": term}))
        assert reverse("admin:transitions_execution_change", args=[wanted.pk]) in text
        assert reverse("admin:transitions_execution_change", args=[other.pk]) not in text


@pytest.mark.parametrize("model", MODELS)
def test_nobody_can_add_change_or_delete(model: str, admin_client) -> None:
    execution = scenes.queued()
    objects = {"pluginrelease": PluginRelease.objects.get(), "transition": execution.transition, "execution": execution}
    pk = objects[model].pk
    names = {"add": [], "change": [pk], "delete": [pk]}
    for name, args in names.items():
        url = reverse(f"admin:transitions_{model}_{name}", args=args)
        assert admin_client.post(url, {"status": "FAILED", "post": "yes"}).status_code == 403
    assert admin_client.get(reverse(f"admin:transitions_{model}_add")).status_code == 403
    assert Execution.objects.get().status == "QUEUED"


@pytest.mark.parametrize("model", MODELS)
def test_without_the_right_to_view_there_is_nothing_to_see(model: str) -> None:
    assert operator().get(reverse(f"admin:transitions_{model}_changelist")).status_code == 403
