"""A manifest is read, or refused with the field and the rule."""

import json

import pytest

from tests.factories import ManifestFactory, StepFactory
from transitions.errors import InvalidManifest
from transitions.manifests import MAX_BYTES, parse_manifest

TOML = """
plugin = "page-block"
version = "1.0.0"
[[contributions]]
key = "table"
kind = "sql"
forward = { statements = ["CREATE TABLE t (id int)"] }
"""


def parse(**changes):
    return parse_manifest(json.dumps({**ManifestFactory(plugin="p"), **changes}).encode())


def test_toml_and_json_give_the_same_canonical_text():
    data = {
        "plugin": "page-block",
        "version": "1.0.0",
        "contributions": [{"key": "table", "kind": "sql", "forward": {"statements": ["CREATE TABLE t (id int)"]}}],
    }
    from_toml = parse_manifest(TOML.encode(), file_name="x.toml")
    assert from_toml.canonical == parse_manifest(json.dumps(data).encode()).canonical


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plugin": "Page Block"}, "plugin: "),
        ({"plugin": None}, "plugin: "),
        ({"version": ""}, "version: "),
        ({"version": 1}, "version: "),
        ({"colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"contributions": [StepFactory(key="a"), StepFactory(key="a")]}, "contribution key 'a' is used twice"),
        ({"contributions": [{"key": "a", "kind": "sql"}]}, r"contributions\.0\.forward: Field required"),
        ({"contributions": [StepFactory(key="x" * 151)]}, r"contributions\.0\.key: "),
        ({"contributions": [StepFactory(forward=["no", "object"])]}, r"contributions\.0\.forward: "),
        ({"title": "x\x00"}, r"\$\.title: the text holds a NUL"),
    ],
)
def test_a_broken_rule_is_named_with_its_field(changes, message):
    with pytest.raises(InvalidManifest, match=message):
        parse(**changes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Expecting value"),
        (b"\xff\xfe", "utf-8"),
        (b'{"plugin": "a", "plugin": "b"}', "the key 'plugin' stands twice"),
        (b'{"plugin": NaN}', "not a JSON number"),
        (b"[" * 100_000, "recursion|nested"),
        (b"[]", "manifest: "),
        (b" " * (MAX_BYTES + 1), f"a manifest has at most {MAX_BYTES}"),
    ],
)
def test_what_is_no_manifest_at_all_is_refused_with_the_file_and_the_reason(content, message):
    with pytest.raises(InvalidManifest, match=f"(?s)release.json: .*({message})"):
        parse_manifest(content, file_name="release.json")


def test_a_date_of_toml_is_no_json_value():
    with pytest.raises(InvalidManifest, match=r"\$\.contributions\[0\]\.forward\.on: date"):
        parse_manifest(TOML.replace("statements", "on = 2026-01-01, statements").encode(), file_name="x.toml")


def test_a_title_may_be_reworded_without_a_new_identity():
    one, other = (parse(contributions=[StepFactory(key="a", title=title)]) for title in ("One", "Two"))
    assert one.contributions[0].fingerprint == other.contributions[0].fingerprint
    assert one.canonical != other.canonical
