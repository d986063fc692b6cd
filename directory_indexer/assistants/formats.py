"""The formats of files that entries are put into, by name: a line each."""

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
    """What is done with the text of a file; what is refused raises `EditRefusedError`."""

    def reads_as(self, text: str) -> object:
        """Return what a text says, however it is laid out."""

    def is_empty(self, text: str) -> bool:
        """Return whether a text holds nothing that anybody would miss."""

    def standing(self, text: str, keys: Keys, value: object) -> Standing:
        """Return whether an entry is in a text."""

    def with_entry(self, text: str, keys: Keys, value: object) -> str:
        """Put an entry into a text that does not have it; an empty text is that of a new file."""

    def without_entry(self, text: str, keys: Keys, value: object, *, made: int) -> str:
        """Take an entry out of a text that has it, and up to `made` empty containers around it."""


class FormatName(StrEnum):
    """What formats are called where changes are recorded."""

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
