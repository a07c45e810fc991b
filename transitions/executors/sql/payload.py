"""The contract of a step of kind ``sql``: which vendor's SQL, and the statements in their order."""

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from transitions.canonical import canonical_json, fingerprint
from transitions.errors import InvalidPayload
from transitions.executors.sql.text import problem

KIND: Final = "sql"


class SqlPayload(BaseModel):
    """Statements for one vendor; none at all is a step that changes nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    vendor: Literal["sqlite", "postgresql", "mysql"]
    statements: list[str]

    @model_validator(mode="after")
    def _each_is_one_statement(self) -> "SqlPayload":
        for position, statement in enumerate(self.statements, start=1):
            if reason := problem(statement, self.vendor):
                raise ValueError(f"statements: number {position} {reason}")
        return self

    def fingerprint(self, key: str) -> str:
        """What was to be done under a key."""
        return fingerprint(canonical_json([key, self.vendor, self.statements]))


def parse_payload(kind: str, payload: dict[str, Any]) -> SqlPayload:
    """The payload of a ``sql`` step. Raises `InvalidPayload` naming the field and the rule."""
    if kind != KIND:
        raise InvalidPayload(f"kind: sql:v1 runs steps of kind {KIND!r}, not {kind!r}")
    try:
        return SqlPayload.model_validate(payload)
    except ValidationError as error:
        raise InvalidPayload("; ".join(_rule(found) for found in error.errors())) from error


def _rule(found: Any) -> str:
    message = found["msg"].removeprefix("Value error, ")
    place = ".".join(map(str, found["loc"]))
    return f"payload.{place}: {message}" if place else f"payload.{message}"
