"""RB-26: what was fingerprinted reads back the same from every database, and any change of it is found."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.dying import die_in_step
from tests.factories import ManifestFactory, StepFactory, drain, let_lease_end
from transitions.contributions import resolve, verified_plan
from transitions.errors import ContributionChanged, PlanChanged
from transitions.models import PluginRelease, Transition
from transitions.planning import plan_transition
from transitions.releases import import_release, trust_release
from transitions.services import execute_transition

HARD = {
    "shuffled": {"b": 1, "a": 2},
    "n": [1e22, -0.0, 1.7976931348623157e308, 1.10, 2**63, 5e-324],
    "t": "ß é 日本 😀",
}
text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    scalars | text, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=12
)


def planned(payload: dict) -> Transition:
    contribution = StepFactory(key="step-1", forward=payload)
    plugin = ManifestFactory()["plugin"]
    content = json.dumps(ManifestFactory(plugin=plugin, contributions=[contribution])).encode()
    import_release(content=content, file_name="m.json", imported_by="olga")
    trust_release(plugin=plugin, version="1.0.0", trusted_by="olga")
    return plan_transition(plugin=plugin, from_version=None, to_version="1.0.0", planned_by="olga").transition


def assert_survives(payload: dict) -> None:
    """As the worker verifies it: from the rows, and nothing but the rows."""
    transition = Transition.objects.get(pk=planned(payload).pk)
    plan = verified_plan(transition)
    contribution = resolve(plan, plugin_id=transition.plugin_id, using="default")["apply:step-1"]
    assert json.dumps(contribution.forward, sort_keys=True) == json.dumps(payload, sort_keys=True)


@pytest.mark.django_db
def test_rb_26_hard_numbers_texts_and_orders_survive():
    assert_survives(HARD)


def survive(examples: int):
    @settings(
        max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
    )
    @given(payload=st.dictionaries(text, json_values, max_size=5))
    def check(db, payload):
        assert_survives(payload)

    return pytest.mark.django_db(check)


test_rb_26_every_accepted_payload_survives = survive(40)
test_rb_26_a_thousand_payloads_survive = pytest.mark.long(survive(1000))


def changes(stored: str) -> list[str]:
    """One character changed, at places all over the text."""
    places = range(0, len(stored), max(1, len(stored) // 40))
    return [stored[:place] + ("0" if stored[place] != "0" else "1") + stored[place + 1 :] for place in places]


@pytest.mark.django_db
def test_rb_26_a_changed_character_of_the_plan_is_found():
    transition = planned(HARD)
    for changed in changes(transition.plan_text):
        Transition.objects.update(plan_text=changed)
        with pytest.raises(PlanChanged):
            execute_transition(transition_id=transition.pk, requested_by="olga")


@pytest.mark.django_db
def test_rb_26_a_changed_character_of_the_manifest_is_found():
    transition = planned(HARD)
    for changed in changes(PluginRelease.objects.get().manifest):
        PluginRelease.objects.update(manifest=changed)
        with pytest.raises(ContributionChanged):
            execute_transition(transition_id=transition.pk, requested_by="olga")


@pytest.mark.django_db(transaction=True)
def test_rb_26_a_change_after_queueing_is_found_by_the_worker(target, queued_execution):
    stored = PluginRelease.objects.get().manifest
    PluginRelease.objects.update(manifest=changes(stored)[3])
    drain()
    queued_execution.refresh_from_db()
    assert queued_execution.status == "FAILED"
    assert queued_execution.receipts.get(position=1).error_code == "contribution_changed"
    assert target.calls == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("model", "column", "error"),
    [(Transition, "plan_fingerprint", PlanChanged), (PluginRelease, "fingerprint", ContributionChanged)],
)
def test_rb_26_a_changed_character_of_a_fingerprint_is_found(model, column, error):
    transition = planned(HARD)
    for changed in changes(getattr(model.objects.get(), column)):
        model.objects.update(**{column: changed})
        with pytest.raises(error):
            execute_transition(transition_id=transition.pk, requested_by="olga")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize(
    ("model", "column", "code"),
    [(Transition, "plan_text", "plan_changed"), (PluginRelease, "manifest", "contribution_changed")],
)
def test_rb_26_a_change_between_two_deliveries_ends_the_batch_at_the_first_step_not_done(
    target, queued_execution, model, column, code
):
    die_in_step(queued_execution, position=2)
    let_lease_end(queued_execution)
    stored = getattr(model.objects.get(), column)
    model.objects.update(**{column: changes(stored)[3]})
    drain()
    model.objects.update(**{column: stored})  # the invariants read it
    queued_execution.refresh_from_db()
    assert queued_execution.status == "FAILED"
    receipts = queued_execution.receipts.values_list("status", "error_code", "outcome_unknown")
    assert list(receipts) == [("SUCCEEDED", "", False), ("FAILED", code, True), ("PENDING", "", False)]
    assert target.calls == []
