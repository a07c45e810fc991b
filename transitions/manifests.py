"""The manifest of a plugin release: its contract, how it is read from a file, and its canonical text (pure)."""

import json
import tomllib
from pathlib import PurePath
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from transitions.canonical import canonical_json, fingerprint
from transitions.errors import InvalidManifest, InvalidValue

MAX_BYTES: Final = 4 * 1024 * 1024
_NAME: Final = r"^[a-z0-9][a-z0-9._-]*$"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Contribution(_Strict):
    """One thing that a release brings to a target."""

    key: str = Field(pattern=_NAME, max_length=150, description="identity within the plugin; stable across releases")
    kind: str = Field(pattern=_NAME, max_length=50, description="what it is: sql, permission, menu …")
    title: str = Field(default="", max_length=200)
    forward: dict[str, Any] = Field(description="payload that brings it about")
    reverse: dict[str, Any] | None = Field(default=None, description="payload that undoes it, where that is possible")

    @property
    def fingerprint(self) -> str:
        """SHA-256 over key, kind and both payloads. A title may be reworded."""
        return fingerprint(canonical_json(self.model_dump(exclude={"title"})))


class LeftOut(_Strict):
    """Something that the release's source does and this manifest knowingly does not."""

    key: str = Field(max_length=150)
    what: str = Field(max_length=500)


class Manifest(_Strict):
    """A plugin release as data."""

    plugin: str = Field(pattern=_NAME, max_length=100)
    version: str = Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+_-]*$", max_length=50)
    title: str = Field(default="", max_length=200)
    contributions: list[Contribution] = Field(default_factory=list, description="in the order in which they apply")
    left_out: list[LeftOut] = Field(default_factory=list)

    @model_validator(mode="after")
    def _keys_are_unique(self) -> "Manifest":
        seen: set[str] = set()
        for contribution in self.contributions:
            if contribution.key in seen:
                raise ValueError(f"contribution key {contribution.key!r} is used twice")
            seen.add(contribution.key)
        return self

    @property
    def canonical(self) -> str:
        """The text that is stored and fingerprinted."""
        return canonical_json(self.model_dump())


def parse_manifest(content: bytes, *, file_name: str = "manifest.json") -> Manifest:
    """Read TOML (by the file's ending) or JSON. Raises `InvalidManifest` naming the field and the rule."""
    if len(content) > MAX_BYTES:
        raise InvalidManifest(f"{file_name}: {len(content)} bytes; a manifest has at most {MAX_BYTES}")
    try:
        text = content.decode("utf-8")
        data = tomllib.loads(text) if PurePath(file_name).suffix == ".toml" else _load_json(text)
        canonical_json(data)  # first: its messages are about values, and its limits protect what follows
        return Manifest.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'manifest'}: {e['msg']}" for e in error.errors())
        raise InvalidManifest(f"{file_name}: {problems}") from error
    except (ValueError, RecursionError, InvalidValue) as error:
        raise InvalidManifest(f"{file_name}: {error}") from error


def _load_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_without_duplicates)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return keys
