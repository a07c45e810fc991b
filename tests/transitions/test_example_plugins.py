"""The plugins in examples/plugins, as a reader would run them."""

from pathlib import Path

import pytest

from tests import factories
from tests.transitions import targets
from tests.transitions.targets import both_databases, only_sqlite
from transitions.manifests import parse_manifest

FOLDER = Path(__file__).parents[2] / "examples/plugins"


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.toml")), ids=lambda file: file.name)
def test_each_example_is_a_manifest_named_as_its_file(file):
    manifest = parse_manifest(file.read_bytes(), file_name=file.name)
    assert file.stem == f"{manifest.plugin}-{manifest.version}"
    assert all(contribution.reverse is not None for contribution in manifest.contributions)


def read(version):
    file = FOLDER / f"page-block-{version}.toml"
    return {"content": file.read_bytes(), "file_name": file.name}


@only_sqlite
@both_databases
def test_page_block_goes_up_two_releases_and_back(sql_target):
    first = targets.plan(**read("1.0.0"))
    second = targets.plan(**read("1.1.0"), from_version="1.0.0")
    assert [step.key for step in second.plan.steps] == ["apply:position", "apply:placements"]
    for transition in (first, second):
        done = targets.run(factories.execute(transition, executor="sql:v1"))
        assert done.status == "SUCCEEDED", targets.errors(done)
    assert targets.rows("SELECT slug, position FROM page_block ORDER BY position") == [("header", 1), ("footer", 2)]

    assert targets.run(factories.compensate(second)).status == "SUCCEEDED"
    assert targets.rows("SELECT * FROM page_block") == [(1, "header", "Welcome"), (2, "footer", "See you; come again")]
    assert targets.run(factories.compensate(first)).status == "SUCCEEDED"
    assert targets.tables() == set()
