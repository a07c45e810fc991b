"""Reconcile, one batch and many: only an ended lease is taken away, and the message counts what was not done."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from tests.transitions import scenes
from tests.transitions.operators import VIEW, messages_of, operator
from transitions.admin import bulk
from transitions.models import Execution, OutboxCommand
from transitions.states import CommandStatus, ExecutionStatus, ReceiptStatus

pytestmark = pytest.mark.django_db

LIST = "admin:transitions_execution_changelist"


@pytest.fixture
def client() -> Client:
    return operator(*VIEW, "reconcile_execution")


def select(client: Client, executions: list[Execution], **data: str):
    """Choose the action on the list, as its form does."""
    chosen = {"action": "reconcile", "_selected_action": [execution.pk for execution in executions], **data}
    return client.post(reverse(LIST), chosen, follow=True)


def test_the_selection_is_confirmed_before_anything_happens(client: Client) -> None:
    made = scenes.every_state()
    response = select(client, list(made.values()), index="0")
    text = response.content.decode()
    assert response.redirect_chain == []
    assert "3 selected batches have ended: they will be skipped." in text
    rows = re.findall(r'<th scope="row">(\d+) ·', text)
    assert {int(pk) for pk in rows} == {made[name].pk for name in ("waiting", "later", "processing", "silent")}
    assert text.count('name="_selected_action"') == len(made)
    assert OutboxCommand.objects.get(execution=made["silent"]).status == CommandStatus.PROCESSING


def test_the_message_counts_what_was_done_and_what_was_not_and_why(client: Client) -> None:
    made = scenes.every_state()
    response = select(client, list(made.values()), confirmed="yes")
    pattern = (
        r"1 recovered; 2 already waiting; "
        rf"1 refused because leased \({made['processing'].pk} by worker-a for 3[56]\d\d s\); "
        r"3 skipped because they have ended\."
    )
    assert re.fullmatch(pattern, messages_of(response)[0])
    command = OutboxCommand.objects.get(execution=made["silent"])
    assert command.status == CommandStatus.PENDING
    assert command.execution.status == ExecutionStatus.QUEUED
    receipt = command.execution.receipts.get(position=2)
    assert (receipt.status, receipt.outcome_unknown) == (ReceiptStatus.PENDING, True)
    assert OutboxCommand.objects.get(execution=made["processing"]).status == CommandStatus.PROCESSING
    assert [entry.object_id for entry in LogEntry.objects.all()] == [str(made["silent"].pk)]


def test_ended_batches_alone_are_nothing_to_confirm(client: Client) -> None:
    text = select(client, [scenes.succeeded()], index="0").content.decode()
    assert "none of the selected batches is queued or running" in text
    assert 'type="submit" class="default"' not in text


def test_too_many_at_once_are_refused(client: Client, monkeypatch) -> None:
    monkeypatch.setattr(bulk, "MOST", 1)
    made = [scenes.queued("one"), scenes.queued("two")]
    response = select(client, made, confirmed="yes")
    assert "at most 1 batches at once" in messages_of(response)[0]


def test_the_action_is_not_offered_without_the_right() -> None:
    execution = scenes.silent()
    viewer = operator(*VIEW)
    assert 'value="reconcile"' not in viewer.get(reverse(LIST)).content.decode()
    assert select(viewer, [execution], confirmed="yes").status_code == 403
    assert OutboxCommand.objects.get().status == CommandStatus.PROCESSING


def test_one_batch_is_reconciled_from_its_page(client: Client) -> None:
    execution = scenes.silent()
    url = reverse("admin:transitions_execution_reconcile", args=[execution.pk])
    assert url in client.get(reverse("admin:transitions_execution_change", args=[execution.pk])).content.decode()
    assert "outcome unknown" in client.get(url).content.decode()
    response = client.post(url, {"seen": ""}, follow=True)
    assert messages_of(response) == ["1 recovered: its lease had expired, a worker can claim it now."]
    assert OutboxCommand.objects.get().status == CommandStatus.PENDING
    assert LogEntry.objects.get().object_id == str(execution.pk)


def test_the_second_operator_is_told_that_it_waits_already(client: Client) -> None:
    execution = scenes.silent()
    url = reverse("admin:transitions_execution_reconcile", args=[execution.pk])
    client.post(url, {"seen": ""})
    response = client.post(url, {"seen": ""}, follow=True)
    assert messages_of(response)[-1] == "0 recovered: it waits for a worker already."
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("scene", "reason"),
    [
        (scenes.queued, "it waits for a worker"),
        (scenes.postponed, "it waits for a worker"),
        (scenes.processing, "it is leased by worker-a for"),
        (scenes.succeeded, "it has ended"),
        (scenes.failed, "it has ended"),
    ],
)
def test_where_there_is_nothing_to_reconcile_the_button_says_why(client: Client, scene, reason: str) -> None:
    execution = scene()
    text = client.get(reverse("admin:transitions_execution_change", args=[execution.pk])).content.decode()
    assert re.search(rf"disabled>Reconcile</button>\s*<span[^>]*>{reason}", text)


def test_a_good_lease_is_refused_with_owner_and_seconds_left(client: Client) -> None:
    execution = scenes.processing()
    url = reverse("admin:transitions_execution_reconcile", args=[execution.pk])
    response = client.post(url, {"seen": ""}, follow=True)
    assert re.fullmatch(r"unchanged: active lease for 3[56]\d\d s more by worker-a", messages_of(response)[0])
    assert OutboxCommand.objects.get().status == CommandStatus.PROCESSING
