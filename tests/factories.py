"""Releases, transitions and batches for tests, made by the services that make the real ones."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import factory
from django.conf import settings
from django.test import override_settings

from outbox import claims
from outbox.lane_runner import Until
from outbox.lanes import LaneOptions, registered
from outbox.worker import ExitCode, Worker
from transitions import planning, releases, services
from transitions.models import Execution, OutboxCommand, PluginRelease, Transition

OPERATOR = "olga"


class StepFactory(factory.DictFactory):
    """One contribution of a manifest, forward and reverse."""

    key = factory.Sequence(lambda n: f"step-{n + 1}")
    kind = "test"
    forward = factory.LazyAttribute(lambda step: {"do": step.key})
    reverse = factory.LazyAttribute(lambda step: {"undo": step.key})


class ManifestFactory(factory.DictFactory):
    """A manifest of ``steps`` contributions named step-1, step-2 …; those in ``irreversible`` have no reverse."""

    class Params:
        steps = 3
        irreversible: Sequence[str] = ()

    plugin = factory.Sequence(lambda n: f"plugin-{n}")
    version = "1.0.0"

    @factory.lazy_attribute
    def contributions(self) -> list[dict[str, Any]]:
        keys = [f"step-{number}" for number in range(1, self.steps + 1)]
        return [StepFactory(key=key, **({"reverse": None} if key in self.irreversible else {})) for key in keys]


class ReleaseFactory(factory.Factory):
    """A release that was imported and, unless told not to, trusted. Takes what `ManifestFactory` takes."""

    class Meta:
        model = PluginRelease

    @classmethod
    def _create(cls, model_class: Any, *args: Any, trusted: bool = True, **manifest: Any) -> PluginRelease:
        content = json.dumps(ManifestFactory(**manifest)).encode()
        release = releases.import_release(content=content, file_name="manifest.json", imported_by=OPERATOR).release
        if trusted:
            release = releases.trust_release(plugin=release.plugin.code, version=release.version, trusted_by=OPERATOR)
        return release


class TransitionFactory(factory.Factory):
    """A planned transition from nothing to a new trusted release. Takes what `ManifestFactory` takes."""

    class Meta:
        model = Transition

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **manifest: Any) -> Transition:
        release = ReleaseFactory(**manifest)
        return planning.plan_transition(
            plugin=release.plugin.code, from_version=None, to_version=release.version, planned_by=OPERATOR
        ).transition


def queue_execution(*, executor: str | None = None, **manifest: Any) -> Execution:
    """A QUEUED execution of a new transition, for ``executor`` if one is named."""
    return execute(TransitionFactory(**manifest), executor=executor)


def execute(transition: Transition, *, executor: str | None = None) -> Execution:
    options = settings.OUTBOX if executor is None else {**settings.OUTBOX, "EXECUTOR_CODE": executor}
    with override_settings(OUTBOX=options):
        return services.execute_transition(transition_id=transition.pk, requested_by=OPERATOR)


def retry(transition: Transition) -> Execution:
    return services.retry_transition(transition_id=transition.pk, requested_by=OPERATOR)


def compensate(transition: Transition) -> Execution:
    return services.compensate_transition(transition_id=transition.pk, requested_by=OPERATOR)


def worker(
    *, until: Until = Until.DRAINED, worker_id: str = "w1", shutdown_seconds: float = 5, **options: Any
) -> Worker:
    """The real worker with the real lane of commands; ``options`` replace those of the settings."""
    lane = registered()["commands"]
    in_force = {**vars(lane.options()), "poll_interval_seconds": 0.05, **options}
    return Worker(
        [(lane, LaneOptions(**in_force))], worker_id=worker_id, shutdown_seconds=shutdown_seconds, until=until
    )


def drain(**options: Any) -> ExitCode:
    """Deliver all that is claimable, in this process, by the production path. Needs ``django_db(transaction=True)``."""
    return worker(until=Until.DRAINED, **options).run()


def claim_command(*, owner: str = "w1", lease_seconds: float = 60, max_deliveries: int = 10) -> claims.Lease:
    """The lease of the one command that is claimable."""
    answer = claims.claim(
        OutboxCommand, owner=owner, limit=1, lease_seconds=lease_seconds, max_deliveries=max_deliveries
    )
    assert isinstance(answer, claims.Claimed), answer
    return answer.leases[0]


def let_lease_end(execution: Execution) -> None:
    """Move the end of the command's lease into the past, as if its worker had died a while ago."""
    command = OutboxCommand.objects.get(execution=execution)
    OutboxCommand.objects.filter(pk=command.pk).update(lease_until=command.leased_at - timedelta(seconds=1))
