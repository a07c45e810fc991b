"""From a trusted identity to a payload: plans and what they name, as they were when they were fingerprinted."""

import json

from transitions.canonical import fingerprint
from transitions.errors import ContributionChanged, PlanChanged, UntrustedContribution
from transitions.manifests import Contribution, Manifest
from transitions.models import PluginRelease, Transition
from transitions.plans import Plan, PlanStep


def verified_manifest(release: PluginRelease) -> Manifest:
    """The manifest of a trusted release.

    Raises `UntrustedContribution`, or `ContributionChanged` if the stored text is not what was fingerprinted.
    """
    if release.trusted_at is None:
        raise UntrustedContribution(f"release {release} is not trusted")
    if fingerprint(release.manifest) != release.fingerprint:
        raise ContributionChanged(f"the stored manifest of {release} does not match its fingerprint")
    return Manifest.model_validate(json.loads(release.manifest))


def verified_plan(transition: Transition) -> Plan:
    """The plan as it was planned. Raises `PlanChanged`."""
    if fingerprint(transition.plan_text) != transition.plan_fingerprint:
        raise PlanChanged(f"the stored plan of transition {transition.pk} does not match its fingerprint")
    return transition.plan


def resolve(plan: Plan, *, plugin_id: int, using: str) -> dict[str, Contribution]:
    """Every contribution of the plan by step key, each checked against trust and both fingerprints.

    One query. Raises `UntrustedContribution` or `ContributionChanged` naming what is wrong.
    """
    versions = {step.release for step in plan.steps}
    releases = PluginRelease.objects.using(using).filter(plugin_id=plugin_id, version__in=versions)
    manifests = {release.version: verified_manifest(release) for release in releases.select_related("plugin")}
    return {step.key: _contribution(step, manifests.get(step.release)) for step in plan.steps}


def _contribution(step: PlanStep, manifest: Manifest | None) -> Contribution:
    found = [c for c in manifest.contributions if c.key == step.contribution] if manifest else []
    if not found or found[0].fingerprint != step.contribution_fingerprint:
        raise ContributionChanged(f"contribution {step.contribution!r} of {step.release} is not what was planned")
    return found[0]
