"""Formats of files that contain entries, one row each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Protocol

from directory_indexer.assistants import marked_text, whole_text
from directory_indexer.assistants.entries import Keys, Standing
from directory_indexer.assistants.json_text import JSON
from directory_indexer.assistants.toml_text import TOML
from directory_indexer.assistants.yaml_text import YAML


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


FORMATS: Final[Mapping[FormatName, Format]] = {
    FormatName.JSON: JSON,
    FormatName.TOML: TOML,
    FormatName.YAML: YAML,
    FormatName.MARKED: marked_text,
    FormatName.WHOLE: whole_text,
}
