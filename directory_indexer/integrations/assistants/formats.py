"""Formats of files that contain entries, one row each, and those of TOML and plain text.

A TOML entry is appended as a table, and removed by tomlkit, which keeps the rest as it was written.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

from directory_indexer.core.lazy import lazily
from directory_indexer.integrations.assistants import (
    UNSAFE_EDIT,
    EditRefusedError,
    EntryState,
    Keys,
    RemovedEntry,
    StructuredFormat,
    gap_after,
    line_end_of,
)
from directory_indexer.integrations.assistants.json_text import JSON
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

    def parsed(self, text: str) -> object:
        """Return the parsed content of a text."""

    def is_empty(self, text: str) -> bool:
        """Whether a text has no content worth keeping."""

    def state(self, text: str, keys: Keys, value: object) -> EntryState:
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


def _without(text: str, cut: RemovedEntry) -> str:
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
        raise EditRefusedError(UNSAFE_EDIT) from None


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


TOML: Final = StructuredFormat(tree_of, insert=_with, cut=_without)


BEGIN: Final = "<!-- dirindex: begin -->"
END: Final = "<!-- dirindex: end -->"
_BLOCK = re.compile(rf"{re.escape(BEGIN)}(.*?){re.escape(END)}(?:\r?\n)?", re.DOTALL)


class MarkedBlock:
    """Blocks in Markdown between two unique marks."""

    def state(self, text: str, keys: Keys, value: object) -> EntryState:
        """Return whether a block is in a text.

        Raises:
            EditRefusedError: there are several, or one is incomplete.
        """
        del keys
        match = _only_block(text)
        if match is None:
            return EntryState.ABSENT
        return EntryState.SAME if match[1].replace("\r\n", "\n").strip("\n") == value else EntryState.OTHER

    def parsed(self, text: str) -> object:
        """Return the words of a text."""
        return text.split()

    def is_empty(self, text: str) -> bool:
        """Return whether a text is blank."""
        return not text.strip()

    def with_entry(self, text: str, keys: Keys, value: object) -> str:
        """Append a block to a text."""
        del keys
        return text + gap_after(text) + f"{BEGIN}\n{value}\n{END}\n".replace("\n", line_end_of(text))

    def without_entry(self, text: str, keys: Keys, value: object, *, made: int) -> str:
        """Remove the block from a text, and a blank line that remains at the end.

        Raises:
            EditRefusedError: there are several, or one is incomplete.
        """
        del keys, value, made
        match = _only_block(text)
        if match is None:
            raise EditRefusedError(f"'{BEGIN}' is not in it")
        before, after = text[: match.start()], text[match.end() :]
        if before.endswith(("\n\n", "\r\n\r\n")) and (not after or after.startswith(("\n", "\r\n"))):
            before = before[:-2] if before.endswith("\r\n") else before[:-1]
        return before + after


class WholeFile:
    """Files whose whole content is either ours or someone else's."""

    def state(self, text: str, keys: Keys, value: object) -> EntryState:
        """Return whether a file has the expected content."""
        del keys
        if not text:
            return EntryState.ABSENT
        return EntryState.SAME if text == value else EntryState.OTHER

    def parsed(self, text: str) -> object:
        """Return a text as it is."""
        return text

    def is_empty(self, text: str) -> bool:
        """Return whether a text is blank."""
        return not text.strip()

    def with_entry(self, text: str, keys: Keys, value: object) -> str:
        """Return the content of the file.

        Raises:
            EditRefusedError: it is not empty.
        """
        del keys
        if text:
            raise EditRefusedError("the file is not empty")
        return str(value)

    def without_entry(self, text: str, keys: Keys, value: object, *, made: int) -> str:
        """Remove the content of the file.

        Raises:
            EditRefusedError: it was changed.
        """
        del keys, made
        if text != value:
            raise EditRefusedError("it has been changed since it was written")
        return ""


def _only_block(text: str) -> re.Match[str] | None:
    n_marks = text.count(BEGIN), text.count(END)
    if n_marks == (0, 0):
        return None
    match = _BLOCK.search(text)
    if n_marks != (1, 1) or match is None:
        raise EditRefusedError(f"'{BEGIN}' and '{END}' are not there exactly once each, in this order")
    return match


FORMATS: Final[Mapping[FormatName, Format]] = {
    FormatName.JSON: JSON,
    FormatName.TOML: TOML,
    FormatName.YAML: YAML,
    FormatName.MARKED: MarkedBlock(),
    FormatName.WHOLE: WholeFile(),
}
