"""Values in words."""

from datetime import timedelta

import pytest

from outbox.admin.formats import Part, badge, duration, readable, readable_json, visible


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.6, "1 s"),
        (-59, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (7260, "2 h 1 min"),
        (90000, "1 d 1 h"),
    ],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(timedelta(seconds=seconds)) == words


def test_no_duration() -> None:
    assert duration(None) == ""


def test_texts_are_shown_as_they_are_and_the_rest_as_json() -> None:
    payload = {"statements": ["a\nb", "c"], "name": "x", "number": 1e22, "empty": [], "mixed": ["a", 1]}
    assert readable(payload) == [
        Part("statements[0]", "a\nb"),
        Part("statements[1]", "c"),
        Part("name", "x"),
        Part("number", "1e+22"),
        Part("empty", "[]"),
        Part("mixed", '[\n  "a",\n  1\n]'),
    ]
    assert readable(None) == []


def test_unseen_characters_are_made_visible() -> None:
    assert visible("a\u202eb\u200bc\x1bd\n\te ü😀") == "a\\u202eb\\u200bc\\x1bd\n\te ü😀"


def test_json_that_is_none_is_shown_as_it_is() -> None:
    assert readable_json("{") == "{"
    assert readable_json("") == ""
    assert readable_json('{"a":"ü"}') == '{\n  "a": "ü"\n}'


def test_a_badge_escapes_its_label() -> None:
    assert badge("bad", "<b>") == '<span class="ob-badge ob-bad">&lt;b&gt;</span>'
