"""The manifest of a Django app, written from its migrations and those that it depends on.

One ``sql`` contribution a migration, ``auth.0001_initial``, in the order in which `migrate` applies them; one that
changes nothing in the database is a contribution without statements, so that every migration has its receipt. What is
written of a migration depends on it and the ones before it only: a later release of the app repeats it unchanged.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from django.db import DatabaseError, NotSupportedError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from transitions.from_migrations.recorder import CannotRecord, Recorder
from transitions.from_migrations.rehearsal import scratch_database, start_over
from transitions.from_migrations.unwritable import unwritable, without_code
from transitions.manifests import Contribution, LeftOut, Manifest

Node = tuple[str, str]  # app label and name of a migration

_MAX_TITLE: Final = 200


class CannotWrite(Exception):
    """A manifest can't be made of these migrations; the message names the migration and the operation."""


@dataclass
class Chain:
    """Contributions in the making, each from a migration that was run, undone and run again."""

    connection: BaseDatabaseWrapper
    state: ProjectState
    leave_out: bool
    contributions: list[Contribution] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def manifest_of(
    labels: list[str],
    *,
    like: BaseDatabaseWrapper,
    plugin: str | None = None,
    version: str | None = None,
    leave_out_unwritable: bool = False,
) -> Manifest:
    """The manifest of these apps for databases like ``like``, each migration run on a scratch database of that kind.

    The plugin is called as the first app, its version as that app's newest migration. Raises `CannotWrite`, and
    `ValidationError` for a name that a manifest can't have.
    """
    loader = MigrationLoader(None)
    nodes = _plan(loader, labels)
    with scratch_database(like) as connection:
        chain = Chain(connection, ProjectState(real_apps=loader.unmigrated_apps), leave_out_unwritable)
        for node in nodes:
            _add(chain, loader.graph.nodes[node])
        _undo_all(chain)
    newest = loader.graph.leaf_nodes(labels[0])[0][1]
    return Manifest(
        plugin=plugin or labels[0].lower(),
        version=version or newest[:50],
        title=f"{', '.join(labels)}: Django migrations as SQL for {like.vendor}"[:_MAX_TITLE],
        contributions=chain.contributions,
        left_out=chain.left_out,
    )


def _plan(loader: MigrationLoader, labels: list[str]) -> list[Node]:
    """Every migration of the apps and of what they depend on, once, dependencies first."""
    nodes: dict[Node, None] = {}
    for label in labels:
        leaves = loader.graph.leaf_nodes(label)
        if not leaves:
            raise CannotWrite(f"{label}: no installed app of this label has migrations")
        if len(leaves) > 1:
            raise CannotWrite(
                f"{label}: several newest migrations, {', '.join(name for _, name in leaves)}: merge them"
            )
        nodes.update(dict.fromkeys(loader.graph.forwards_plan(leaves[0])))
    return list(nodes)


def _add(chain: Chain, migration: Migration) -> None:
    """Run the migration for the SQL there, undo it for the SQL back, and run it again to go on from there."""
    writable = _writable(chain, migration)
    before, after = chain.state.clone(), chain.state.clone()
    forward = Recorder(chain.connection)
    _change(writable, forward, lambda editor: writable.apply(after, editor))
    back = Recorder(chain.connection) if all(operation.reversible for operation in migration.operations) else None
    if back:
        _change(writable, back, lambda editor: writable.unapply(before, editor))
    chain.state = after
    chain.contributions.append(_contribution(chain, migration, forward, back))
    if back:
        _go_on(chain)


def _change(migration: Migration, recorder: Recorder, change: Callable[[BaseDatabaseSchemaEditor], object]) -> None:
    try:
        with recorder.editor(atomic=migration.atomic or False) as editor:
            change(editor)
    except (DatabaseError, NotSupportedError, CannotRecord, ValueError, NotImplementedError) as error:
        raise CannotWrite(f"{migration}: it can't be run on an empty scratch database: {error}") from error


def _go_on(chain: Chain) -> None:
    """Bring the newest contribution back. A reverse that leaves something behind, as one that does nothing, can be in
    the way: then from the beginning.
    """
    try:
        _run(chain, chain.contributions[-1].forward)
    except DatabaseError:
        start_over(chain.connection)
        for contribution in chain.contributions:
            _again(chain, contribution)


def _again(chain: Chain, contribution: Contribution) -> None:
    """Raises `CannotWrite` where it fails: what was written depends on something that its reverse has removed."""
    try:
        _run(chain, contribution.forward)
    except DatabaseError as error:
        raise CannotWrite(f"{contribution.key}: it can't be run again after its reverse: {error}") from error


def _undo_all(chain: Chain) -> None:
    """The way of a compensation, from the newest migration back to the first that can't be undone: a proof, for
    databases without rows. Raises `CannotWrite` where it fails.
    """
    for contribution in reversed(chain.contributions):
        if contribution.reverse is None:
            return
        try:
            _run(chain, contribution.reverse)
        except DatabaseError as error:
            raise CannotWrite(f"{contribution.key}: it can't be undone after the later ones: {error}") from error


def _run(chain: Chain, payload: dict[str, Any]) -> None:
    recorder = Recorder(chain.connection)
    with recorder.editor(atomic=True):
        recorder.replay(payload["statements"])


def _contribution(chain: Chain, migration: Migration, forward: Recorder, back: Recorder | None) -> Contribution:
    return Contribution(
        key=str(migration).lower(),
        kind="sql",
        title="; ".join(operation.describe() for operation in migration.operations)[:_MAX_TITLE],
        forward=_payload(chain, forward),
        reverse=_payload(chain, back) if back else None,
    )


def _payload(chain: Chain, recorded: Recorder) -> dict[str, Any]:
    return {"vendor": chain.connection.vendor, "statements": recorded.statements}


def _writable(chain: Chain, migration: Migration) -> Migration:
    """The migration with nothing in it but what can be written as SQL.

    Raises `CannotWrite` naming what can't, unless it is to be left out: then it is recorded.
    """
    found = [what for operation in migration.operations for what in unwritable(operation)]
    if found and not chain.leave_out:
        raise CannotWrite(
            f"{migration}: {'; '.join(found)}: can't be written as SQL (--leave-out-unwritable leaves it out)"
        )
    chain.left_out += [LeftOut(key=str(migration).lower(), what=what[:500]) for what in found]
    writable: Any = type(migration)(migration.name, migration.app_label)
    writable.operations = [without_code(operation) for operation in migration.operations]
    return cast(Migration, writable)
