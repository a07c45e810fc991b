"""From two trusted releases to an immutable transition."""

from typing import NamedTuple

import structlog
from django.db import router, transaction

from transitions.canonical import fingerprint
from transitions.contributions import verified_manifest
from transitions.errors import ImpossiblePlan
from transitions.models import Plugin, PluginRelease, Transition
from transitions.plans import build_plan
from transitions.releases import found

log = structlog.get_logger(__name__)


class Planned(NamedTuple):
    transition: Transition
    created: bool


def plan_transition(*, plugin: str, from_version: str | None, to_version: str | None, planned_by: str) -> Planned:
    """The transition between two trusted releases, made in a transaction of its own; the same plan is made only once.

    Raises `UntrustedContribution`, `ContributionChanged`, `ImpossiblePlan` or `NoReverse` before it writes.
    """
    if from_version == to_version:
        raise ImpossiblePlan(f"{plugin}: a transition leads from one release to another")
    alias = router.db_for_write(Transition)
    with transaction.atomic(using=alias):
        # The lock makes "only once" true: there is no constraint over two releases that may both be absent.
        owner = Plugin.objects.using(alias).select_for_update().filter(code=plugin).first()
        releases = [_release(alias, plugin, version) for version in (from_version, to_version)]
        manifests = [verified_manifest(release) if release else None for release in releases]
        text = build_plan(plugin, *manifests).canonical
        identity = {"plugin": owner, "from_release": releases[0], "to_release": releases[1]}
        planned, created = Transition.objects.using(alias).get_or_create(
            **identity,
            plan_fingerprint=fingerprint(text),
            defaults={"plan_text": text, "planned_by": planned_by},
        )
    log.info("transition_planned", transition=planned.pk, steps=len(planned.plan.steps), created=created, by=planned_by)
    return Planned(planned, created)


def _release(alias: str, plugin: str, version: str | None) -> PluginRelease | None:
    if version is None:
        return None
    rows = PluginRelease.objects.using(alias).select_related("plugin")
    return found(rows.filter(plugin__code=plugin, version=version).first(), f"{plugin} {version}")
