"""The formats of files that entries are put into, by name: a line each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Protocol

from directory_indexer.assistants.entries import Keys, Standing
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.assistants import json_text, marked_text, toml_text, whole_text, yaml_text


class Format(Protocol):
    """What is done with the text of a file; what is refused raises `EditRefusedError`."""

    def made_for(self, text: str, keys: Keys) -> int:
        """Count the containers around an entry that would have to be made for it."""

    def is_empty(self, text: str) -> bool:
        """Tell whether a text holds nothing that anybody would miss."""

    def says_same(self, one: str, other: str) -> bool:
        """Tell whether two texts say the same, however they are laid out."""

    def standing(self, text: str, keys: Keys, value: object) -> Standing:
        """Tell whether an entry is in a text."""

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
    FormatName.JSON: json_text,
    FormatName.TOML: toml_text,
    FormatName.YAML: yaml_text,
    FormatName.MARKED: marked_text,
    FormatName.WHOLE: whole_text,
}
