"""Queueing: all or nothing, in order, and without a call of an executor."""

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction
from django.db.models.signals import post_save, pre_save
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.factories import ReleaseFactory, TransitionFactory, compensate, drain, execute, retry
from transitions import planning, releases, services
from transitions.errors import (
    ContributionChanged,
    InvalidPayload,
    NoReverse,
    NotAllowed,
    PlanChanged,
    ReleaseConflict,
    TransitionError,
    UnknownExecutor,
    UntrustedContribution,
)
from transitions.executors.base import get_executor
from transitions.models import Execution, OutboxCommand, PluginRelease, StepReceipt, Transition

pytestmark = pytest.mark.django_db
real_worker = pytest.mark.django_db(transaction=True)


def steps_of(execution: Execution) -> list[str]:
    return list(execution.receipts.order_by("position").values_list("step_key", flat=True))


def keys_of(execution: Execution) -> dict[str, str]:
    return dict(execution.receipts.values_list("step_key", "idempotency_key"))


def nothing_was_written() -> bool:
    return not any(model.objects.exists() for model in (Execution, StepReceipt, OutboxCommand))


# --- What a queued batch is


def test_executing_queues_one_execution_its_receipts_and_one_command(target, transition):
    execution = execute(transition)
    assert (execution.status, execution.number, execution.cycle, execution.attempt) == ("QUEUED", 1, 1, 1)
    assert steps_of(execution) == ["apply:step-1", "apply:step-2", "apply:step-3"]
    assert set(execution.receipts.values_list("status", flat=True)) == {"PENDING"}
    command = OutboxCommand.objects.get(execution=execution)
    assert (command.status, command.delivery_count, command.lease_token) == ("PENDING", 0, None)


def test_queueing_calls_no_executor(target, transition):
    execute(transition)
    assert target.calls == []


def test_a_plan_without_steps_is_a_batch_without_receipts(target):
    execution = factories.queue_execution(steps=0)
    assert not execution.receipts.exists()


@pytest.mark.parametrize("model", [Execution, OutboxCommand])
def test_a_database_that_fails_before_the_commit_leaves_nothing(target, transition, model):
    def fail(**kwargs):
        raise DatabaseError("disk full")

    post_save.connect(fail, sender=model)
    try:
        with pytest.raises(DatabaseError):
            execute(transition)
    finally:
        post_save.disconnect(fail, sender=model)
    assert nothing_was_written()


class FailingSql:
    """Fails each statement that contains a text, as a database does that goes away at that moment."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, execute, sql, params, many, context):
        if self.text in sql:
            raise OperationalError("server closed the connection")
        return execute(sql, params, many, context)


@pytest.mark.parametrize("model", [Execution, StepReceipt, OutboxCommand])
def test_a_database_that_fails_at_an_insert_leaves_nothing(target, transition, model):
    failing = FailingSql(f"INSERT INTO {connection.ops.quote_name(model._meta.db_table)}")
    with connection.execute_wrapper(failing), pytest.raises(OperationalError):
        execute(transition)
    assert nothing_was_written()


@real_worker
def test_a_database_that_fails_at_the_commit_leaves_nothing(target, transition, monkeypatch):
    def fail():
        raise OperationalError("server closed the connection")

    with monkeypatch.context() as broken:
        broken.setattr(connection, "_commit", fail)
        with pytest.raises(OperationalError):
            execute(transition)
    assert nothing_was_written()
    assert execute(transition).status == "QUEUED"


def test_a_caller_that_rolls_back_takes_the_batch_with_it(target, transition):
    with transaction.atomic():
        execute(transition)
        transaction.set_rollback(True)
    assert nothing_was_written()


def test_the_work_is_inserted_in_the_order_of_the_reference_under_the_lock_of_the_transition(target, transition):
    with CaptureQueriesContext(connection) as captured:
        execute(transition)
    statements = [query["sql"] for query in captured if query["sql"].startswith(("SELECT", "INSERT", "UPDATE"))]
    assert Transition._meta.db_table in statements[0]
    if connection.features.has_select_for_update:
        assert "FOR UPDATE" in statements[0]
    inserted = [sql.split()[2].strip('"`') for sql in statements if sql.startswith("INSERT")]
    assert inserted == [model._meta.db_table for model in (Execution, StepReceipt, OutboxCommand)]
    first = next(place for place, sql in enumerate(statements) if sql.startswith("INSERT"))
    read = [sql for sql in statements[first:] if sql.startswith("SELECT")]
    assert read == [], "everything is known before the first insert"


def test_an_execution_has_one_command(target, queued_execution):
    with pytest.raises(IntegrityError), transaction.atomic():
        OutboxCommand.objects.create(execution=queued_execution)


# --- What is refused, before the first insert


@pytest.fixture
def no_insert():
    """Fails the test that lets a row of a batch be inserted, even if it is rolled back."""

    def fail(sender, **kwargs):
        pytest.fail(f"{sender.__name__} was inserted")

    for model in (Execution, StepReceipt, OutboxCommand):
        pre_save.connect(fail, sender=model)
    yield
    for model in (Execution, StepReceipt, OutboxCommand):
        pre_save.disconnect(fail, sender=model)
    assert nothing_was_written()


def test_an_altered_plan_is_refused(target, transition, no_insert):
    altered = transition.plan_text.replace("step-1", "step-9")
    Transition.objects.update(plan_text=altered)
    with pytest.raises(PlanChanged):
        execute(transition)


def test_an_altered_payload_is_refused(target, transition, no_insert):
    release = PluginRelease.objects.get()
    PluginRelease.objects.update(manifest=release.manifest.replace('"do":"step-1"', '"do":"step-x"'))
    with pytest.raises(ContributionChanged, match="does not match its fingerprint"):
        execute(transition)


def test_a_release_that_is_trusted_no_more_is_refused(target, transition, no_insert):
    PluginRelease.objects.update(trusted_at=None)
    with pytest.raises(UntrustedContribution, match="is not trusted"):
        execute(transition)


def test_an_unknown_executor_is_refused(target, transition, no_insert):
    with pytest.raises(UnknownExecutor, match="'nobody:v1'"):
        execute(transition, executor="nobody:v1")


def test_a_payload_that_the_executor_refuses_is_refused(target, transition, no_insert, monkeypatch):
    def refuse(kind, payload):
        raise InvalidPayload("payload.do: no")

    monkeypatch.setattr(get_executor("test-keyed:v1"), "check_payload", refuse)
    with pytest.raises(InvalidPayload, match=r"payload\.do"):
        execute(transition)


def test_a_transition_that_does_not_exist_is_refused(no_insert):
    with pytest.raises(TransitionError, match="no transition 99"):
        services.execute_transition(transition_id=99, requested_by="olga")


def test_a_second_execution_is_refused_while_the_first_is_active(target, queued_execution):
    with pytest.raises(NotAllowed, match="is QUEUED already"):
        execute(queued_execution.transition)
    assert Execution.objects.count() == 1


# --- Retry


@real_worker
def test_a_retry_is_a_new_execution_of_what_was_left_undone_under_the_same_keys(failed_execution):
    again = retry(failed_execution.transition)
    assert (again.number, again.attempt, again.cycle, again.direction) == (2, 2, 1, "forward")
    assert steps_of(again) == ["apply:step-2", "apply:step-3"]
    assert keys_of(again).items() <= keys_of(failed_execution).items()
    assert OutboxCommand.objects.filter(execution=again, status="PENDING").exists()


@real_worker
def test_after_a_retry_each_step_was_called_as_often_as_it_had_to_be(target, failed_execution):
    retry(failed_execution.transition)
    drain()
    assert [call.step for call in target.calls] == ["step-1", "step-2", "step-2", "step-3"]


@real_worker
def test_a_failed_compensation_is_retried_in_its_direction(target, succeeded_execution):
    target.script("step-2", ("permanent", "locked"), ("succeed",), direction="reverse")
    undo = compensate(succeeded_execution.transition)
    drain()
    again = retry(succeeded_execution.transition)
    assert again.direction == "reverse"
    assert steps_of(again) == ["apply:step-2", "apply:step-1"]
    assert keys_of(again).items() <= keys_of(undo).items()


@real_worker
def test_a_retry_goes_to_the_executor_that_the_cycle_began_with(target, failed_execution, settings):
    settings.OUTBOX = {**settings.OUTBOX, "EXECUTOR_CODE": "dry-run:v1"}
    assert retry(failed_execution.transition).executor_code == "test-keyed:v1"


# --- Compensation


@real_worker
def test_compensation_undoes_in_reverse_order_under_keys_of_its_own(target, succeeded_execution):
    undo = compensate(succeeded_execution.transition)
    assert steps_of(undo) == ["apply:step-3", "apply:step-2", "apply:step-1"]
    assert not set(keys_of(undo).values()) & set(keys_of(succeeded_execution).values())
    drain()
    assert [call.step for call in target.calls if call.direction == "reverse"] == ["step-3", "step-2", "step-1"]


@real_worker
def test_compensation_undoes_what_earlier_attempts_of_the_cycle_did(target, failed_execution):
    target.script("step-2", ("permanent", "still no table"))
    retry(failed_execution.transition)
    drain()
    assert steps_of(compensate(failed_execution.transition)) == ["apply:step-1"]


@real_worker
def test_a_step_that_cannot_be_undone_is_named_before_anything_is_queued(target):
    execution = factories.queue_execution(irreversible=["step-2"])
    drain()
    with pytest.raises(NoReverse, match="step 'apply:step-2'"):
        compensate(execution.transition)
    assert Execution.objects.count() == 1


@real_worker
def test_a_step_whose_outcome_is_unknown_is_undone_as_well(target, transition):
    target.script("step-2", ("unknown",))
    execute(transition)
    drain()
    assert steps_of(compensate(transition)) == ["apply:step-2", "apply:step-1"]


@real_worker
def test_an_empty_batch_is_compensated_by_an_empty_batch(target):
    execution = factories.queue_execution(steps=0)
    drain()
    compensate(execution.transition)
    drain()
    assert set(Execution.objects.values_list("status", flat=True)) == {"SUCCEEDED"}


@real_worker
def test_a_compensated_transition_runs_again_in_a_new_cycle_with_new_keys(target, succeeded_execution):
    compensate(succeeded_execution.transition)
    drain()
    again = execute(succeeded_execution.transition)
    assert (again.cycle, again.attempt, again.number) == (2, 1, 3)
    assert not set(keys_of(again).values()) & set(keys_of(succeeded_execution).values())
    drain()
    assert len(target.effects) == 9


# --- Releases and plans


def test_the_same_manifest_is_imported_once():
    first, second = ReleaseFactory(plugin="p", trusted=False), ReleaseFactory(plugin="p", trusted=False)
    assert first == second


def test_another_content_under_the_same_version_is_refused():
    ReleaseFactory(plugin="p", steps=1)
    with pytest.raises(ReleaseConflict, match=r"p 1\.0\.0 was imported with other content"):
        ReleaseFactory(plugin="p", steps=2)


def test_trusting_what_was_altered_is_refused():
    ReleaseFactory(plugin="p", trusted=False)
    PluginRelease.objects.update(manifest="{}")
    with pytest.raises(ContributionChanged):
        releases.trust_release(plugin="p", version="1.0.0", trusted_by="olga")


def test_the_first_who_trusted_a_release_stays_on_record():
    ReleaseFactory(plugin="p")
    assert releases.trust_release(plugin="p", version="1.0.0", trusted_by="other").trusted_by == factories.OPERATOR


def test_a_release_that_was_never_imported_is_named():
    with pytest.raises(TransitionError, match="p 9 was never imported"):
        planning.plan_transition(plugin="p", from_version=None, to_version="9", planned_by="olga")


def test_the_same_plan_is_made_once():
    made = TransitionFactory(plugin="p")
    again = planning.plan_transition(plugin="p", from_version=None, to_version="1.0.0", planned_by="other")
    assert (again.transition, again.created) == (made, False)


def test_an_upgrade_runs_only_what_is_new(target):
    ReleaseFactory(plugin="p", version="1", steps=2)
    ReleaseFactory(plugin="p", version="2", steps=3)
    upgrade = planning.plan_transition(plugin="p", from_version="1", to_version="2", planned_by="olga").transition
    assert steps_of(execute(upgrade)) == ["apply:step-3"]
