"""The vector sets of the embedded engine on the disk: the one in use, and those that a switch fills or leaves."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.vectorstore.generations import Generations


class EmbeddedVectorSets:
    """The vector sets in a directory whose names begin with that of the index."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self._name = name

    def size_bytes(self) -> int:
        """Add up what they take on the disk."""
        return sum(Generations(path).size_bytes() for path in self._sets())

    def discard(self) -> None:
        """Remove the vectors of every one that nobody reads at the moment."""
        for path in self._sets():
            Generations(path).discard_others(0)

    def misplaced(self) -> list[Path]:
        """Find what lies where they should, and is no directory."""
        paths = (self.path, *(one for one in self._sets() if ".damaged-" not in one.name))
        return [path for path in paths if os.path.lexists(path) and not path.is_dir()]

    def _sets(self) -> Iterator[Path]:
        return self.path.glob(f"{glob.escape(self._name)}*")
