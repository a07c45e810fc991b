"""One text for one value: canonical JSON, its fingerprint, and the rules that make both survive every database (pure).

The text is stored and hashed as text. A JSON column would not do: PostgreSQL's jsonb rewrites 1e22 and -0.0.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any, Final

from transitions.errors import InvalidValue

MAX_DEPTH: Final = 64
MAX_INTEGER_BITS: Final = 4096


def canonical_json(value: Any) -> str:
    """The canonical text of a JSON value: sorted keys, no spaces, ASCII. Raises `InvalidValue` with the path."""
    for path, node in _walk(value):
        if problem := _problem(node):
            raise InvalidValue(f"{path}: {problem}")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def fingerprint(text: str) -> str:
    """SHA-256 of a canonical text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Every node with its path, without recursion: hostile nesting must end in a message, not in a crash."""
    stack: list[tuple[str, Any, int]] = [("$", value, 0)]
    while stack:
        path, node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise InvalidValue(f"{path[:200]}: nested deeper than {MAX_DEPTH} levels")
        yield path, node
        if isinstance(node, dict):
            yield from ((f"{path} key {key!r}", _Key(key)) for key in node)
            stack += [(f"{path}.{key}", item, depth + 1) for key, item in node.items()]
        elif isinstance(node, list):
            stack += [(f"{path}[{index}]", item, depth + 1) for index, item in enumerate(node)]


class _Key:
    def __init__(self, key: Any) -> None:
        self.key = key


def _problem(node: Any) -> str | None:
    match node:
        case _Key():
            return _problem(node.key) if isinstance(node.key, str) else "a key must be a text"
        case None | bool() | dict() | list():
            return None
        case str():
            return _text_problem(node)
        case int():
            return None if node.bit_length() <= MAX_INTEGER_BITS else f"an integer of over {MAX_INTEGER_BITS} bits"
        case float():
            return None if math.isfinite(node) else f"{node} is not a JSON number"
    return f"{type(node).__name__} is not a JSON type"


def _text_problem(text: str) -> str | None:
    if "\x00" in text:
        return "the text holds a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "the text holds a lone surrogate"
    return None
