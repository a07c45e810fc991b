"""A key is its bytes, on every database."""

import pytest

from transitions.models import Plugin

KEYS = ["Req-A", "req-a", "k1", "k1 ", "e", "é", "ss", "ß", "x" * 99 + "1", "x" * 99 + "2"]


@pytest.mark.django_db
def test_keys_that_differ_in_case_accent_space_or_last_byte_are_different():
    for key in KEYS:
        Plugin.objects.create(code=key)
    assert [Plugin.objects.filter(code=key).count() for key in KEYS] == [1] * len(KEYS)
