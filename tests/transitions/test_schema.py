"""The tables as the database has them."""

import pytest
from django.db import IntegrityError, connection, transaction

from tests.factories import execute
from transitions.models import Execution, OutboxCommand, Plugin, PluginRelease, StepReceipt, Transition

pytestmark = pytest.mark.django_db
LEASE_COLUMNS = {
    "available_at",
    "lease_token",
    "lease_owner",
    "leased_at",
    "lease_until",
    "delivery_count",
    "last_error",
}


def constraints(model) -> dict:
    with connection.cursor() as cursor:
        return connection.introspection.get_constraints(cursor, model._meta.db_table)


def columns(model) -> set[str]:
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, model._meta.db_table)
    return {column.name for column in described}


@pytest.mark.parametrize("model", [Plugin, PluginRelease, Transition, Execution, StepReceipt, OutboxCommand])
def test_every_table_has_every_column(model):
    assert columns(model) == {field.column for field in model._meta.local_fields}


def test_the_command_has_the_lease_columns():
    assert columns(OutboxCommand) > LEASE_COLUMNS


@pytest.mark.parametrize(
    ("model", "indexed", "unique"),
    [
        (OutboxCommand, ["status", "available_at", "id"], False),
        (OutboxCommand, ["status", "lease_until"], False),
        (OutboxCommand, ["execution_id"], True),
        (Execution, ["transition_id", "number"], True),
        (Execution, ["active_transition"], True),
        (StepReceipt, ["execution_id", "position"], True),
        (StepReceipt, ["execution_id", "step_key"], True),
        (StepReceipt, ["idempotency_key"], False),
        (PluginRelease, ["plugin_id", "version"], True),
    ],
)
def test_the_indexes_are_there(model, indexed, unique):
    found = [facts for facts in constraints(model).values() if facts["columns"] == indexed]
    assert any(facts["unique"] == unique for facts in found)


@pytest.mark.parametrize("model", [Execution, StepReceipt, OutboxCommand])
def test_the_database_refuses_a_status_that_nobody_knows(target, queued_execution, model):
    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.update(status="ODD")


def test_the_database_refuses_a_second_active_execution_by_itself(target, transition):
    first = execute(transition)
    values = {"transition": transition, "direction": "forward", "cycle": 1, "attempt": 2, "executor_code": "x"}
    with pytest.raises(IntegrityError), transaction.atomic():
        Execution.objects.create(number=2, requested_by="olga", **values)
    Execution.objects.filter(pk=first.pk).update(status="FAILED")
    Execution.objects.create(number=2, requested_by="olga", **values)


def test_keys_are_compared_byte_by_byte():
    for code in ("key", "Key", "kéy", "key "):
        Plugin.objects.create(code=code)
    assert Plugin.objects.filter(code="key").count() == 1


def test_the_permissions_of_the_actions_exist(django_user_model):
    from django.contrib.auth.models import Permission

    actions = {"execute_transition", "retry_transition", "compensate_transition"}
    actions |= {"trust_pluginrelease", "reconcile_execution"}
    assert actions <= set(Permission.objects.values_list("codename", flat=True))
