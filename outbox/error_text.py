"""Errors as text that every database can store: bounded, without NUL, never itself a reason to fail."""

from typing import Final

MAX_BYTES: Final = 16 * 1024
_MAX_CAUSES: Final = 5


def describe_error(error: BaseException) -> str:
    """Class and message of an error and of its first causes, ready for a column. Never raises."""
    lines = [_line(error)]
    cause = _cause(error)
    while cause is not None and len(lines) <= _MAX_CAUSES:
        lines.append(f"caused by {_line(cause)}")
        cause = _cause(cause)
    return storable("\n".join(lines))


def storable(text: str) -> str:
    """``text`` with NUL and lone surrogates made visible, cut at a character to `MAX_BYTES`, the full length noted."""
    head = text[:MAX_BYTES].replace("\x00", "␀").encode("utf-8", "backslashreplace")
    if len(text) <= MAX_BYTES and len(head) <= MAX_BYTES:
        return head.decode()
    note = f" … [cut; {len(text)} characters in all]".encode()
    return head[: MAX_BYTES - len(note)].decode("utf-8", "ignore") + note.decode()


def _cause(error: BaseException) -> BaseException | None:
    # Compared with None: an exception class may define its own truth value, or fail to have one.
    return error.__context__ if error.__cause__ is None else error.__cause__


def _line(error: BaseException) -> str:
    try:
        message = str(error)
    except BaseException as failure:  # a message that can't be made is no reason to lose the failure
        message = f"(its message can't be shown: {type(failure).__name__})"
    return f"{type(error).__name__}: {message}"
