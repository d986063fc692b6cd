"""The vector sets of the embedded engine on disk: the one in use, and those that a switch fills or leaves."""

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
        """Return their size on disk."""
        return sum(Generations(path).size_bytes() for path in self._sets())

    def discard(self) -> None:
        """Remove the vectors of all sets that are not being read."""
        for path in self._sets():
            Generations(path).discard_others(0)

    def misplaced(self) -> list[Path]:
        """Return paths where a directory is expected, and something else exists."""
        paths = (self.path, *(path for path in self._sets() if ".damaged-" not in path.name))
        return [path for path in paths if os.path.lexists(path) and not path.is_dir()]

    def _sets(self) -> Iterator[Path]:
        return self.path.glob(f"{glob.escape(self._name)}*")
