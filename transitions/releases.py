"""Plugin releases: imported as data, trusted by a person, never changed."""

from typing import NamedTuple

import structlog
from django.db import router, transaction

from outbox.clock import DatabaseNow
from transitions.canonical import fingerprint
from transitions.errors import ContributionChanged, ReleaseConflict, TransitionError
from transitions.manifests import parse_manifest
from transitions.models import Plugin, PluginRelease

log = structlog.get_logger(__name__)


class Imported(NamedTuple):
    release: PluginRelease
    created: bool


def import_release(*, content: bytes, file_name: str, imported_by: str) -> Imported:
    """Store a manifest, untrusted, in a transaction of its own; the same manifest again returns the first row.

    Raises `InvalidManifest` before any SQL, `ReleaseConflict` if this version was imported with other content.
    """
    manifest = parse_manifest(content, file_name=file_name)
    alias = router.db_for_write(PluginRelease)
    with transaction.atomic(using=alias):
        plugin, _ = Plugin.objects.using(alias).get_or_create(code=manifest.plugin)
        text = manifest.canonical
        release, created = PluginRelease.objects.using(alias).get_or_create(
            plugin=plugin,
            version=manifest.version,
            defaults={"manifest": text, "fingerprint": fingerprint(text), "imported_by": imported_by},
        )
    if not created and release.fingerprint != fingerprint(text):
        raise ReleaseConflict(f"{release} was imported with other content; a changed release needs a new version")
    log.info("release_imported", release=str(release), created=created, by=imported_by)
    return Imported(release, created)


def trust_release(*, plugin: str, version: str, trusted_by: str) -> PluginRelease:
    """Mark a release as trusted; a release that is trusted already is returned as it is.

    The caller has checked that the person may do this. Raises `ContributionChanged` if the stored manifest is not what
    was imported.
    """
    alias = router.db_for_write(PluginRelease)
    with transaction.atomic(using=alias):
        release = _locked_release(alias, plugin, version)
        if fingerprint(release.manifest) != release.fingerprint:
            raise ContributionChanged(f"the stored manifest of {release} does not match its fingerprint")
        if release.trusted_at is None:
            release.trusted_at, release.trusted_by = DatabaseNow(), trusted_by
            release.save(update_fields=["trusted_at", "trusted_by"])
            release.refresh_from_db(fields=["trusted_at"])
            log.info("release_trusted", release=str(release), fingerprint=release.fingerprint, by=trusted_by)
    return release


def _locked_release(alias: str, plugin: str, version: str) -> PluginRelease:
    """The release, its row locked: the row alone, since MariaDB would lock what is joined to it as well."""
    owner = Plugin.objects.using(alias).filter(code=plugin).first()
    rows = PluginRelease.objects.using(alias).select_for_update()
    return found(rows.filter(plugin=owner, version=version).first() if owner else None, f"{plugin} {version}")


def found(release: PluginRelease | None, name: str) -> PluginRelease:
    """The release, or `TransitionError` naming the one that was never imported."""
    if release is None:
        raise TransitionError(f"release {name} was never imported")
    return release
