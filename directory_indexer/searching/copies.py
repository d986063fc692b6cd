"""Finds the other files that have the passage of a hit: in work trees, clones and copies."""

from __future__ import annotations

from typing import Final

from directory_indexer.docstore.store import Snapshot
from directory_indexer.paths import FilePath
from directory_indexer.relevance.ranking import Ranked
from directory_indexer.searching.scope import Scope


def also_in(snapshot: Snapshot, ranked: Ranked, path: FilePath, scope: Scope) -> tuple[FilePath, ...]:
    """Name the other files of a scope that have a passage of a file, sorted.

    The index knows those with the same name, and the ranking those with other names that it came across.
    """
    found = snapshot.chunks.copies(ranked.chunk_id, limit=_MOST)
    named = {other for file_id, other in found if scope.file_ids is None or file_id in scope.file_ids}
    return tuple(sorted((named | set(ranked.copies)) - {path}))


_MOST: Final = 1_000
