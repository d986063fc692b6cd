"""The part of an index that a run, an estimate or a count is about, and what it means in SQL.

A chunk lies in each tracked directory that has a file with its text, whichever of these files holds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from directory_indexer.docstore.reading import Reading, marks
from directory_indexer.paths import FilePath


class IndexScope(NamedTuple):
    """Tracked directories, or without any the whole index."""

    roots: tuple[FilePath, ...] = ()

    def plus(self, roots: Iterable[FilePath]) -> IndexScope:
        """Return a scope with further directories; the whole index stays whole."""
        return IndexScope(tuple(dict.fromkeys((*self.roots, *roots)))) if self.roots else self


WHOLE_INDEX: Final = IndexScope()


class ScopedReading(Reading):
    """Questions to the part of one moment of the index that lies in some tracked directories."""

    def _is_everything(self, scope: IndexScope) -> bool:
        return not scope.roots or self._tracked().keys() <= set(scope.roots)

    def _files_in(self, scope: IndexScope) -> tuple[str, list[int]]:
        """Make the SQL condition over `files f`, with its arguments; one for the whole index costs nothing."""
        if self._is_everything(scope):
            return "1", []
        tracked = self._tracked()
        directory_ids = [tracked[root] for root in scope.roots if root in tracked]
        return f"f.directory_id IN ({marks(directory_ids)})", directory_ids

    def _chunks_in(self, scope: IndexScope) -> tuple[str, list[int]]:
        """Make the SQL condition over `chunks c`, with its arguments; one for the whole index costs nothing."""
        if self._is_everything(scope):
            return "1", []
        condition, arguments = self._files_in(scope)
        return f"c.file_id IN (SELECT coalesce(f.holder_id, f.id) FROM files f WHERE {condition})", arguments  # noqa: S608
