"""What a schema editor does to a database, kept as statements that any client could send."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.operations import BaseDatabaseOperations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from transitions.executors.sql import text as sql_text

_CHANGE: Final = re.compile(
    r"\s*(CREATE|ALTER|DROP|INSERT|UPDATE|DELETE|REPLACE|MERGE|TRUNCATE|COMMENT)\b", re.IGNORECASE
)


class CannotRecord(Exception):
    """A migration does something that can't be written down as statements."""


class Recorder:
    """Runs SQL on the scratch database, and keeps each statement as the text that any client could send."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._recording = False
        self.statements: list[str] = []

    @contextmanager
    def editor(self, *, atomic: bool) -> Iterator[BaseDatabaseSchemaEditor]:
        """Django's own schema editor of this vendor; what it deferred is run at the end of the block.

        Raises `CannotRecord` if the database is changed in another way.
        """
        editor_class = self._connection.SchemaEditorClass
        assert editor_class is not None  # noqa: S101  (each vendor here has one)
        recording = type("RecordingEditor", (editor_class,), {"execute": self._execute_for})
        with self._connection.execute_wrapper(self._watch), recording(self._connection, atomic=atomic) as editor:
            yield editor
        if self._connection.vendor == "postgresql":
            # For `migrate` a transaction ends here. In this longer one, checks that are still to come forbid the next
            # change of their table.
            self._connection.check_constraints()

    def replay(self, statements: list[str]) -> None:
        """Run what was recorded, as the executor of the target will."""
        for statement in statements:
            self._send(statement)

    @property
    def _execute_for(self) -> Any:
        def execute(editor: Any, sql: Any, params: Any = ()) -> None:
            for statement in _singly(self._connection, _as_text(self._connection, str(sql), params)):
                self.statements.append(statement)
                self._send(statement)

        return execute

    def _send(self, statement: str) -> None:
        self._recording = True
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
        finally:
            self._recording = False

    def _watch(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not self._recording and _CHANGE.match(str(sql)):
            raise CannotRecord(f"it runs SQL past the schema editor: {str(sql)[:200]}")
        return execute(sql, params, many, context)


def _singly(connection: BaseDatabaseWrapper, text: str) -> list[str]:
    """The one statement of a text, or each of a script: hand-written SQL may be one. Raises `CannotRecord`."""
    several = sql_text.is_several(text, connection.vendor)
    script = BaseDatabaseOperations.prepare_sql_script(connection.ops, text) if several else [text]
    statements = [part.strip().rstrip(";") for part in script if not sql_text.is_blank(part, connection.vendor)]
    for statement in statements:
        if problem := sql_text.problem(statement, connection.vendor):
            raise CannotRecord(f"SQL that {problem}: {sql_text.excerpt(statement)}")
    return statements


def _as_text(connection: Any, sql: str, params: Any) -> str:
    """The statement with its parameters written in, by the rules of the vendor."""
    if params is None:
        return sql
    if connection.vendor == "postgresql":
        return str(connection.ops.compose_sql(sql, params))
    if connection.vendor == "mysql":
        # Not the schema editor's quote_value, which doubles each %.
        with connection.cursor() as cursor:
            return str(cursor.mogrify(sql, params))
    # As its backend reads it: where it has nothing to put in, a single % stands for itself.
    parts = [part.replace("%%", "%") for part in re.split(r"(?<!%)%s", sql)]
    values = map(connection.SchemaEditorClass(connection).quote_value, params)
    return parts[0] + "".join(value + part for value, part in zip(values, parts[1:], strict=True))
