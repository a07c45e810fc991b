"""One text for one value, and a refusal with a path for what would not survive."""

import json

import pytest

from transitions.canonical import MAX_DEPTH, canonical_json, fingerprint
from transitions.errors import InvalidValue


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def test_the_order_of_keys_and_the_spaces_of_a_source_do_not_matter():
    assert canonical_json(json.loads('{ "b": 1, "a": [ 1.0, true ] }')) == '{"a":[1.0,true],"b":1}'


@pytest.mark.parametrize("value", [1e22, -0.0, 1.7976931348623157e308, 1.10, 2**63, -(2**4000), "é😀\u2028", "", None])
def test_what_is_accepted_reads_back_equal_from_an_ascii_text(value):
    text = canonical_json({"k": value})
    assert text.isascii()
    assert canonical_json(json.loads(text)) == text


def test_numbers_that_compare_equal_are_different_values():
    assert len({canonical_json(value) for value in (1, 1.0, True)}) == 3
    assert canonical_json(-0.0) != canonical_json(0.0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, {"b": "x\x00"}]}, r"\$\.a\[1\]\.b: .*NUL"),
        ({"a": {"k\x00": 1}}, r"\$\.a key 'k\\x00': .*NUL"),
        ({"a": "\ud800"}, r"\$\.a: .*lone surrogate"),
        ({"a": float("nan")}, r"\$\.a: nan is not a JSON number"),
        ([float("inf")], r"\$\[0\]: inf"),
        ({1: 2}, r"\$ key 1: a key must be a text"),
        ({"a": {1, 2}}, r"\$\.a: set is not a JSON type"),
        ({"a": b"x"}, r"\$\.a: bytes"),
        ({"a": 2**5000}, r"\$\.a: an integer of over 4096 bits"),
        (nested(100_000), f"nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_what_would_not_survive_is_refused_with_its_path(value, message):
    with pytest.raises(InvalidValue, match=message):
        canonical_json(value)


def test_the_deepest_accepted_value_is_accepted():
    assert canonical_json(nested(MAX_DEPTH))


def test_a_fingerprint_is_the_sha_256_of_the_text():
    assert fingerprint("{}") == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
