"""A stored manifest made ready to be read by a person, whatever became of it."""

import json
from dataclasses import dataclass, field

from pydantic import ValidationError

from outbox.admin.formats import Part, readable, visible
from transitions.canonical import fingerprint
from transitions.manifests import Contribution, Manifest
from transitions.models import PluginRelease


@dataclass(frozen=True)
class ReadContribution:
    """One contribution, its payloads as text."""

    contribution: Contribution
    title: str
    forward: list[Part]
    reverse: list[Part]


@dataclass(frozen=True)
class ReadManifest:
    """The manifest; or, with a ``problem``, why it is not what was imported."""

    manifest: Manifest | None = None
    problem: str | None = None
    contributions: list[ReadContribution] = field(default_factory=list)


def read_manifest(release: PluginRelease) -> ReadManifest:
    """Never raises: a manifest that was changed behind our back is shown as a problem."""
    if fingerprint(release.manifest) != release.fingerprint:
        return ReadManifest(problem=f"the stored manifest of {release} does not match its fingerprint")
    try:
        manifest = Manifest.model_validate(json.loads(release.manifest))
    except (ValueError, ValidationError) as error:
        return ReadManifest(problem=f"the stored manifest of {release} can't be read: {error}")
    return ReadManifest(manifest, None, [_contribution(contribution) for contribution in manifest.contributions])


def _contribution(contribution: Contribution) -> ReadContribution:
    forward, reverse = readable(contribution.forward), readable(contribution.reverse)
    return ReadContribution(contribution, visible(contribution.title), forward, reverse)
