"""What one can tell of an SQL statement by reading it, without a parser (pure)."""

import re
from typing import Final

MAX_EXCERPT: Final = 200

# Comments and literals of each vendor: they may hold any word and any semicolon, and mean nothing here.
# MySQL runs what stands in /*! … */, so that is no comment.
_OPAQUE: Final = {
    "sqlite": r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]""",
    "postgresql": (
        r"""--[^\n]*|/\*.*?(?:\*/|\Z)|\b[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|"""
        r"""(?<![\w$])(?P<tag>\$(?:[^\W\d]\w*)?\$).*?(?P=tag)"""
    ),
    "mysql": (
        r"""(?:--(?=\s|\Z)|\#)[^\n]*|/\*(?!M?!).*?(?:\*/|\Z)|"""
        r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`"""
    ),
}
_PATTERNS: Final = {vendor: re.compile(pattern, re.DOTALL) for vendor, pattern in _OPAQUE.items()}

# A body of several statements is one statement; the server finds its end.
_WITH_BODY: Final = re.compile(r"CREATE\b[^;]*?\b(?:TRIGGER|PROCEDURE|FUNCTION|EVENT|PACKAGE)\b", re.IGNORECASE)
_SESSION_CONTROL: Final = frozenset(
    {
        "BEGIN",
        "START",
        "COMMIT",
        "ROLLBACK",
        "END",
        "ABORT",
        "SAVEPOINT",
        "RELEASE",
        "PREPARE",
        "XA",
        "LOCK",
        "UNLOCK",
        "USE",
    }
)
_LOCKS_ARE_FINE: Final = {"postgresql": {"LOCK"}, "sqlite": {"LOCK", "UNLOCK"}}  # held to the end of the transaction

# Never commits by itself, on any MySQL or MariaDB. What is not here may: SET, CALL, and of course all DDL.
_PLAIN_DML: Final = frozenset({"INSERT", "REPLACE", "UPDATE", "DELETE", "SELECT", "WITH", "DO", "VALUES"})


def problem(statement: str, vendor: str) -> str | None:
    """Why ``statement`` can't be run as one statement of a step; None if nothing speaks against it."""
    if is_blank(statement, vendor):
        return "holds no SQL"
    if is_several(statement, vendor):
        return "holds more than one statement: write each as a text of its own"
    word = _first_word(_bare(statement, vendor))
    if word in _SESSION_CONTROL - _LOCKS_ARE_FINE.get(vendor, set()):
        return f"{word} is not allowed: session and transaction are the executor's"
    return None


def is_blank(statement: str, vendor: str) -> bool:
    """Whether there is nothing but comments."""
    return not _bare(statement, vendor).strip("; \t\r\n")


def is_several(statement: str, vendor: str) -> bool:
    code = _bare(statement, vendor).strip()
    return ";" in code.rstrip("; \t\r\n") and not _WITH_BODY.match(code)


def is_plain_dml(statement: str) -> bool:
    """Whether MySQL and MariaDB run it within the open transaction for sure."""
    code = _bare(statement, "mysql")
    return _first_word(code) in _PLAIN_DML and "/*" not in code


def may_stop_halfway(statement: str) -> bool:
    """Whether MySQL or MariaDB may have done a part of it when it reports a failure."""
    code = _bare(statement, "mysql")
    word = _first_word(code)
    return word == "CALL" or "/*" in code or (word == "DROP" and "," in code)


def excerpt(statement: str) -> str:
    """The beginning of a statement, on one line."""
    line = " ".join(statement.split())
    return line if len(line) <= MAX_EXCERPT else f"{line[:MAX_EXCERPT]} …"


def _bare(statement: str, vendor: str) -> str:
    """The statement with a space for each comment and literal."""
    return _PATTERNS[vendor].sub(" ", statement)


def _first_word(code: str) -> str:
    word = re.match(r"[\s(;]*([A-Za-z]+)", code)
    return word[1].upper() if word else ""
