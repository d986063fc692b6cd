"""Where else the very passage stands that a hit shows: in other work trees, in clones, in copies of a file."""

from __future__ import annotations

from typing import Final

from directory_indexer.docstore.store import Snapshot
from directory_indexer.paths import FilePath
from directory_indexer.relevance.ranking import Ranked
from directory_indexer.searching.scope import Scope


def also_in(snapshot: Snapshot, ranked: Ranked, path: FilePath, scope: Scope) -> tuple[FilePath, ...]:
    """Name the other files of a scope that have a passage of a file, in order.

    The index knows all that are called alike, and the ranking those that it came upon under other names.
    """
    found = snapshot.chunks.copies(ranked.chunk_id, limit=_MOST)
    named = {other for file_id, other in found if scope.file_ids is None or file_id in scope.file_ids}
    return tuple(sorted((named | set(ranked.copies)) - {path}))


_MOST: Final = 1_000
