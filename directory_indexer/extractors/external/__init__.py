"""What reads kinds of files that dirindex does not: commands, and extensions that are installed beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from directory_indexer.extractors.format import Format
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.extractors.budget import Budget
    from directory_indexer.extractors.document import Document


class AddedFormat(NamedTuple):
    """A format that the configuration adds; files with one of its suffixes have it, whatever they hold.

    It travels to worker processes, in which alone it is read. `recipe` is text that changes when files of the kind come
    to something else than before; `seconds` is how long one of them may take.
    """

    kind: str
    suffixes: tuple[str, ...]
    extract: Callable[[bytes, str, Budget], Document]
    recipe: str
    seconds: int

    @property
    def format(self) -> Format:
        """What the other formats are known by, too."""
        return Format("docs", " ".join(self.suffixes), self.extract, is_isolated=True)

    def has(self, name: str) -> bool:
        """Tell by its name, in small letters, whether a file has this format."""
        return name.endswith(tuple(f".{suffix}" for suffix in self.suffixes))
