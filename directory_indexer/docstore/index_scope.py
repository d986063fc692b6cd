"""The part of an index that a run, an estimate or a count covers, and its SQL conditions.

A chunk lies in each tracked directory that has a file with its text, whichever of these files owns it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from directory_indexer.docstore.reading import Reading, marks
from directory_indexer.paths import FilePath


class IndexScope(NamedTuple):
    """Tracked directories; without any, the whole index."""

    roots: tuple[FilePath, ...] = ()

    def plus(self, roots: Iterable[FilePath]) -> IndexScope:
        """Return a scope with further directories; the whole index stays whole."""
        return IndexScope(tuple(dict.fromkeys((*self.roots, *roots)))) if self.roots else self


WHOLE_INDEX: Final = IndexScope()


class ScopedReading(Reading):
    """Queries on one snapshot of the index that can be limited to tracked directories."""

    def _is_everything(self, scope: IndexScope) -> bool:
        return not scope.roots or self._tracked().keys() <= set(scope.roots)

    def _files_in(self, scope: IndexScope) -> tuple[str, list[int]]:
        """Return the SQL condition on `files f` and its arguments; for the whole index it is trivial."""
        if self._is_everything(scope):
            return "1", []
        tracked = self._tracked()
        directory_ids = [tracked[root] for root in scope.roots if root in tracked]
        return f"f.directory_id IN ({marks(directory_ids)})", directory_ids

    def _chunks_in(self, scope: IndexScope) -> tuple[str, list[int]]:
        """Return the SQL condition on `chunks c` and its arguments; for the whole index it is trivial."""
        if self._is_everything(scope):
            return "1", []
        condition, arguments = self._files_in(scope)
        return f"c.file_id IN (SELECT coalesce(f.holder_id, f.id) FROM files f WHERE {condition})", arguments  # noqa: S608
