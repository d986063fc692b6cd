"""Formats of files that contain entries, one row each, and TOML.

A TOML entry is appended as a table, and removed by tomlkit, which keeps the rest as it was written.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

from directory_indexer.core.lazy import lazily
from directory_indexer.integrations.assistants.entries import (
    NOT_SAFE,
    Cut,
    EditRefusedError,
    Keys,
    Standing,
    Structured,
    gap_after,
    line_end_of,
)
from directory_indexer.integrations.assistants.json_text import JSON
from directory_indexer.integrations.assistants.plain_text import Marked, Whole
from directory_indexer.integrations.assistants.yaml_text import YAML

with lazily:
    import tomlkit


def tree_of(text: str) -> Any:
    """Parse a text.

    Raises:
        EditRefusedError: it is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EditRefusedError(str(error)) from None
    except RecursionError:
        raise EditRefusedError("it is nested too deep") from None


class Format(Protocol):
    """Operations on the text of a file; refusals raise `EditRefusedError`."""

    def reads_as(self, text: str) -> object:
        """Return the parsed content of a text, independent of its layout."""

    def is_empty(self, text: str) -> bool:
        """Whether a text has no content worth keeping."""

    def standing(self, text: str, keys: Keys, value: object) -> Standing:
        """Return whether an entry is in a text."""

    def with_entry(self, text: str, keys: Keys, value: object) -> str:
        """Insert an entry into a text that does not have it; an empty text is that of a new file."""

    def without_entry(self, text: str, keys: Keys, value: object, *, made: int) -> str:
        """Remove an entry from a text, and up to `made` empty containers around it."""


class FormatName(StrEnum):
    """Names of formats in the record."""

    JSON = "json"
    TOML = "toml"
    YAML = "yaml"
    MARKED = "marked"
    WHOLE = "whole"


def _with(text: str, keys: Keys, value: object) -> str:
    return text + gap_after(text) + _table(keys, value).replace("\n", line_end_of(text))


def _without(text: str, cut: Cut) -> str:
    try:
        document: Any = tomlkit.parse(text)
        container = document
        for key in cut.keys[:-1]:
            container = container[key]
        del container[cut.keys[-1]]
        if len(cut.keys) > 1 and cut.keys[0] not in cut.left and cut.keys[0] in document:
            del document[cut.keys[0]]
        return str(tomlkit.dumps(document))
    except (KeyError, ValueError, TypeError, RecursionError):
        raise EditRefusedError(NOT_SAFE) from None


def _table(keys: Keys, value: object) -> str:
    members: Any = value
    table = tomlkit.table()
    for name, member in members.items():
        if isinstance(member, dict):
            inner = tomlkit.inline_table()
            inner.update(member)
            table.add(name, inner)
        else:
            table.add(name, member)
    return f"[{'.'.join(keys)}]\n{table.as_string()}"


TOML: Final = Structured(tree_of, insert=_with, cut=_without)

FORMATS: Final[Mapping[FormatName, Format]] = {
    FormatName.JSON: JSON,
    FormatName.TOML: TOML,
    FormatName.YAML: YAML,
    FormatName.MARKED: Marked(),
    FormatName.WHOLE: Whole(),
}
