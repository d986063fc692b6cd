"""Readers of further formats: commands, and installed extensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from directory_indexer.extractors.format import Format
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.extractors.budget import Budget
    from directory_indexer.extractors.document import Document


class AddedFormat(NamedTuple):
    """A format added by the configuration; files with one of its suffixes have it, whatever their content.

    It is sent to worker processes, where all of its files are read. `recipe` is text that changes when files of the
    kind yield other documents than before; `seconds` is the time limit of a file.
    """

    kind: str
    suffixes: tuple[str, ...]
    extract: Callable[[bytes, str, Budget], Document]
    recipe: str
    seconds: int

    @property
    def format(self) -> Format:
        """The format in the form of the built-in formats."""
        return Format("docs", " ".join(self.suffixes), self.extract, is_isolated=True)

    def has(self, name: str) -> bool:
        """Whether a file has this format, by its name in lower case."""
        return name.endswith(tuple(f".{suffix}" for suffix in self.suffixes))
