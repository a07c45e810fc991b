"""From two manifests to the ordered steps between them."""

import pytest

from tests.factories import ManifestFactory, StepFactory
from transitions.errors import ImpossiblePlan, NoReverse
from transitions.manifests import Manifest
from transitions.plans import Plan, build_plan, idempotency_key, payload_of
from transitions.states import Direction

FORWARD, REVERSE = Direction.FORWARD, Direction.REVERSE


def release(version: str, *keys: str, **steps) -> Manifest:
    contributions = [StepFactory(key=key, **steps) for key in keys]
    return Manifest.model_validate(ManifestFactory(plugin="p", version=version, contributions=contributions))


def keys(plan: Plan) -> list[str]:
    return [step.key for step in plan.steps]


def test_a_first_release_is_applied_in_its_order():
    assert keys(build_plan("p", None, release("1", "a", "b"))) == ["apply:a", "apply:b"]


def test_removal_goes_backwards():
    assert keys(build_plan("p", release("1", "a", "b"), None)) == ["remove:b", "remove:a"]


def test_between_releases_what_is_gone_is_removed_first_and_what_stays_is_not_touched():
    plan = build_plan("p", release("1", "a", "b", "c"), release("2", "c", "d", "e"))
    assert keys(plan) == ["remove:b", "remove:a", "apply:d", "apply:e"]


def test_equal_releases_need_no_step():
    assert keys(build_plan("p", release("1", "a"), release("2", "a"))) == []


def test_changed_content_under_an_old_key_is_refused_and_named():
    with pytest.raises(ImpossiblePlan, match="contribution 'a' differs"):
        build_plan("p", release("1", "a"), release("2", "a", forward={"other": 1}))


def test_a_removal_without_a_reverse_is_refused_and_named():
    with pytest.raises(NoReverse, match="contribution 'a' of 1"):
        build_plan("p", release("1", "a", reverse=None), None)


@pytest.mark.parametrize(
    ("wanted", "direction", "payload"),
    [
        ("apply", FORWARD, {"do": "a"}),
        ("apply", REVERSE, {"undo": "a"}),
        ("remove", FORWARD, {"undo": "a"}),
        ("remove", REVERSE, {"do": "a"}),
    ],
)
def test_the_payload_depends_on_the_action_and_on_the_direction(wanted, direction, payload):
    manifest = release("1", "a")
    plan = build_plan("p", None, manifest) if wanted == "apply" else build_plan("p", manifest, None)
    assert payload_of(plan.steps[0], manifest.contributions[0], direction) == payload


def test_undoing_what_has_no_reverse_names_the_step():
    manifest = release("1", "a", reverse=None)
    step = build_plan("p", None, manifest).steps[0]
    assert not step.reversible
    with pytest.raises(NoReverse, match="step 'apply:a'"):
        payload_of(step, manifest.contributions[0], REVERSE)


def test_a_plan_reads_back_equal_from_its_canonical_text():
    plan = build_plan("p", release("1", "a"), release("2", "b"))
    assert Plan.from_canonical(plan.canonical) == plan


def test_a_key_depends_on_everything_that_makes_a_step_another_one():
    base = ("uid", "plan", 1, FORWARD, "apply:a")
    others = [("x", *base[1:]), ("uid", "x", *base[2:]), ("uid", "plan", 2, *base[3:])]
    others += [(*base[:3], REVERSE, "apply:a"), (*base[:4], "apply:b")]
    assert len({idempotency_key(*parts) for parts in [base, *others]}) == 6
    assert idempotency_key(*base) == idempotency_key(*base)
