"""Manifests of real apps: written, run on a real target by the real worker, compared with what migrate makes."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.migrations import Migration, RunPython, RunSQL, SeparateDatabaseAndState
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import AddField, AlterField, CreateModel
from django.db.models import AutoField, CharField

from tests import factories
from tests.transitions import targets
from tests.transitions.targets import VENDOR, both_databases, only_sqlite
from transitions.executors.sql.executor import Sql
from transitions.from_migrations.manifest import CannotWrite, manifest_of
from transitions.manifests import Manifest, parse_manifest
from transitions.schemas import describe_schema, differences

pytestmark = both_databases

# What these apps bring, as migrate made it in the default database.
APPS = ("auth", "admin", "sessions", "transitions")
TABLES = ("auth_", "django_content_type", "django_admin_log", "django_session", "transitions_")


def make(*arguments: str) -> str:
    out = StringIO()
    call_command("make_manifest", *arguments, stdout=out)
    return out.getvalue()


def migrated():
    return {name: table for name, table in describe_schema(connection).items() if name.startswith(TABLES)}


# --- Real apps


def test_auth_goes_there_as_migrate_would_and_back_to_nothing(sql_target):
    transition = targets.plan(make(*APPS, "--leave-out-unwritable").encode())
    forward = targets.run(factories.execute(transition, executor="sql:v1"))
    assert forward.status == "SUCCEEDED", targets.errors(forward)
    assert {(status, attempts) for _, status, attempts in targets.statuses(forward)} == {("SUCCEEDED", 1)}
    assert len(migrated()) >= 15
    assert differences(migrated(), describe_schema(sql_target)) == []

    back = targets.run(factories.compensate(transition))
    assert back.status == "SUCCEEDED", targets.errors(back)
    assert targets.tables() == set()


def test_a_compensated_release_can_be_installed_again(sql_target):
    transition = targets.plan(make("auth", "--leave-out-unwritable").encode())
    targets.run(factories.execute(transition, executor="sql:v1"))
    targets.run(factories.compensate(transition))
    again = targets.run(factories.execute(transition, executor="sql:v1"))
    assert again.status == "SUCCEEDED", targets.errors(again)
    assert "auth_user" in targets.tables()


@only_sqlite
def test_on_sqlite_the_tables_are_written_word_for_word_as_migrate_writes_them(sql_target):
    targets.run(factories.execute(targets.plan(make("auth", "--leave-out-unwritable").encode()), executor="sql:v1"))
    query = "SELECT name, sql FROM sqlite_master WHERE tbl_name LIKE 'auth_%' ORDER BY name"
    with connection.cursor() as cursor:
        cursor.execute(query)
        assert targets.rows(query) == list(cursor.fetchall())


def test_the_manifest_has_each_migration_of_the_app_and_of_what_it_depends_on_in_order(bare_target):
    manifest = parse_manifest(make("auth", "--leave-out-unwritable").encode())
    assert (manifest.plugin, manifest.version) == ("auth", "0012_alter_user_first_name_max_length")
    keys = [contribution.key for contribution in manifest.contributions]
    assert keys[:3] == ["contenttypes.0001_initial", "contenttypes.0002_remove_content_type_name", "auth.0001_initial"]
    assert keys[3:] == sorted(keys[3:])
    assert len(keys) == 14


def test_every_payload_is_one_that_the_executor_accepts(bare_target):
    for contribution in parse_manifest(make(*APPS, "--leave-out-unwritable").encode()).contributions:
        for payload in (contribution.forward, contribution.reverse):
            Sql().check_payload(contribution.kind, payload)


def test_a_migration_that_changes_nothing_is_a_contribution_without_statements(bare_target):
    manifest = parse_manifest(make("auth", "--leave-out-unwritable").encode())
    errors = next(c for c in manifest.contributions if c.key == "auth.0007_alter_validators_add_error_messages")
    assert errors.forward == errors.reverse == {"vendor": VENDOR, "statements": []}


def test_what_is_written_of_a_migration_does_not_depend_on_later_ones_or_on_other_apps(bare_target):
    alone = parse_manifest(make("contenttypes", "--leave-out-unwritable").encode())
    among_others = parse_manifest(make("auth", "--leave-out-unwritable").encode())
    assert alone.contributions == among_others.contributions[:2]


def test_what_runs_python_is_named_and_refused(bare_target):
    with pytest.raises(CommandError, match=r"contenttypes\.0002.* reverse: .*add_legacy_name.*--leave-out-unwritable"):
        make("auth")


def test_what_runs_python_is_recorded_where_it_is_left_out(bare_target):
    left_out = parse_manifest(make("auth", "--leave-out-unwritable").encode()).left_out
    assert [(left.key.split("_")[0], left.what.split(":")[0]) for left in left_out] == [
        ("contenttypes.0002", "reverse"),
        ("auth.0011", "forward"),
        ("auth.0011", "reverse"),
    ]


# --- The command


def test_the_manifest_goes_to_a_file_under_the_names_that_were_asked_for(bare_target, tmp_path):
    file = tmp_path / "m.json"
    said = make("sessions", "--plugin", "visits", "--version", "1.0", "--output", str(file))
    manifest = parse_manifest(file.read_bytes())
    assert (manifest.plugin, manifest.version) == ("visits", "1.0")
    assert said.startswith(f"visits 1.0: 1 contributions in {file}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "nothing: no installed app"),
        (["messages"], "messages: no installed app of this label has migrations"),
        (["sessions", "--plugin", "No Name"], "plugin: .*pattern"),
        (["sessions", "--output", "/nowhere/m.json"], "/nowhere/m.json: No such file"),
    ],
)
def test_what_is_wrong_is_said(bare_target, arguments, message):
    with pytest.raises(CommandError, match=message):
        make(*arguments)


def test_the_target_is_left_as_it_was(bare_target):
    make("sessions")
    assert targets.tables() == set()
    assert not [name for name in targets.namespaces() if "rehearsal" in name]
    assert "rehearsal" not in connections.settings


# --- Migrations of every kind, as an app of their own


def manifest_of_migrations(monkeypatch, *operations_of_each, **options) -> Manifest:
    """The manifest of an app ``shop`` with these migrations."""

    class Loader(MigrationLoader):
        def load_disk(self):
            super().load_disk()
            for number, operations in enumerate(operations_of_each, start=1):
                migration = Migration(f"{number:04}_m", "shop")
                migration.operations = operations
                migration.dependencies = [("shop", f"{number - 1:04}_m")] if number > 1 else []
                self.disk_migrations["shop", migration.name] = migration
            self.migrated_apps.add("shop")

    monkeypatch.setattr("transitions.from_migrations.manifest.MigrationLoader", Loader)
    return manifest_of(["shop"], like=connections["target"], **options)


def thing(**fields):
    return CreateModel("Thing", [("id", AutoField(primary_key=True)), *fields.items()])


def run_all(manifest: Manifest) -> None:
    transition = targets.plan(json.dumps(manifest.model_dump()).encode())
    done = targets.run(factories.execute(transition, executor="sql:v1"))
    assert done.status == "SUCCEEDED", targets.errors(done)


def test_a_constraint_whose_name_only_the_database_knows_is_dropped(monkeypatch, sql_target):
    plain = AlterField("Thing", "name", CharField(max_length=20))
    manifest = manifest_of_migrations(monkeypatch, [thing(name=CharField(max_length=20, unique=True))], [plain])
    run_all(manifest)
    targets.do("INSERT INTO shop_thing (name) VALUES ('a')", "INSERT INTO shop_thing (name) VALUES ('a')")


def test_a_default_is_written_with_all_its_characters(monkeypatch, sql_target):
    text = '50 % off; it\'s "new" – 100%'
    manifest = manifest_of_migrations(
        monkeypatch,
        [thing(), RunSQL("INSERT INTO shop_thing (id) VALUES (7)", "DELETE FROM shop_thing")],
        [AddField("Thing", "text", CharField(max_length=99, default=text))],
    )
    run_all(manifest)
    assert targets.rows("SELECT text FROM shop_thing") == [(text,)]


def test_a_script_becomes_single_statements(monkeypatch, sql_target):
    script = "INSERT INTO shop_thing (id) VALUES (1); -- one; two\nINSERT INTO shop_thing (id) VALUES (2);"
    manifest = manifest_of_migrations(monkeypatch, [thing()], [RunSQL(script, RunSQL.noop)])
    assert len(manifest.contributions[1].forward["statements"]) == 2
    run_all(manifest)
    assert targets.rows("SELECT count(*) FROM shop_thing") == [(2,)]


def test_a_reverse_that_leaves_something_behind_does_not_hinder_the_later_migrations(monkeypatch, sql_target):
    manifest = manifest_of_migrations(
        monkeypatch,
        [thing()],
        [RunSQL("CREATE TABLE extra (id integer)", RunSQL.noop)],
        [RunSQL("ALTER TABLE extra ADD COLUMN more integer", RunSQL.noop)],
    )
    run_all(manifest)
    assert targets.rows("SELECT more FROM extra") == []


def test_an_irreversible_migration_has_no_reverse(monkeypatch, bare_target):
    manifest = manifest_of_migrations(monkeypatch, [thing()], [RunSQL("DELETE FROM shop_thing")])
    assert [c.reverse is None for c in manifest.contributions] == [False, True]


def test_python_within_a_combined_operation_is_found_and_never_run(monkeypatch, bare_target):
    def never(apps, editor):
        raise AssertionError

    combined = SeparateDatabaseAndState(database_operations=[RunPython(never, RunPython.noop)])
    with pytest.raises(CannotWrite, match=r"shop\.0001_m: forward: .*never"):
        manifest_of_migrations(monkeypatch, [combined])
    manifest = manifest_of_migrations(monkeypatch, [combined], leave_out_unwritable=True)
    assert [left.key for left in manifest.left_out] == ["shop.0001_m"]


class PastTheEditor(RunSQL):
    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(self.sql)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (RunSQL("SELEKT 1", ""), "shop.0001_m: it can't be run on an empty scratch database"),
        (RunSQL("COMMIT", ""), "COMMIT is not allowed"),
        (PastTheEditor("CREATE TABLE sly (id integer)", ""), "SQL past the schema editor: CREATE TABLE sly"),
        (RunSQL("CREATE TABLE a (id integer)", "DROP TABLE b"), "shop.0001_m: .*scratch"),
    ],
)
def test_sql_that_can_not_be_right_is_refused_by_the_name_of_its_migration(
    monkeypatch, bare_target, operation, message
):
    with pytest.raises(CannotWrite, match=message):
        manifest_of_migrations(monkeypatch, [operation])
