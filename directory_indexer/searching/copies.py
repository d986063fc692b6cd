"""Files that contain the passage of a hit: in work trees, clones and copies."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Final

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.shared_texts import SharingFile
from directory_indexer.docstore.store import Snapshot
from directory_indexer.ids import ChunkId
from directory_indexer.paths import FilePath
from directory_indexer.relevance.ranking import Ranked
from directory_indexer.searching.scope import Scope


def other_copies(snapshot: Snapshot, ranked: Ranked, path: FilePath, scope: Scope) -> tuple[FilePath, ...]:
    """Return the other files of a scope that contain a passage of a file, sorted.

    The index knows copies with the same name, and the ranking those with other names among its candidates.
    """
    copies = snapshot.chunks.copies(ranked.chunk_id, limit=_MAX_COPIES)
    named = {other for file_id, other in copies if scope.file_ids is None or file_id in scope.file_ids}
    return tuple(sorted((named | set(ranked.copies)) - {path}))


def nearest_copy(
    snapshot: Snapshot, chunk: IndexedChunk, others: Sequence[FilePath], near: FilePath | None
) -> IndexedChunk:
    """Return a passage in that of all files with it that is nearest to a directory; its own if none is nearer."""
    nearest = max((chunk.path, *others), key=partial(_nearness, near))
    if nearest == chunk.path:
        return chunk
    words = chunk.chunk.text.split()
    return next((stored for stored in snapshot.chunks.of_file(nearest) if stored.chunk.text.split() == words), chunk)


def nearest_in_scope(
    snapshot: Snapshot, chunks: Mapping[ChunkId, IndexedChunk], scope: Scope, near: FilePath | None
) -> dict[ChunkId, IndexedChunk]:
    """Return each passage in a file of the scope: of those that share its text, the nearest, else the first."""
    copies = copies_in_scope(snapshot, chunks, scope).items()
    return {id_: max(files, key=lambda stored: _nearness(near, stored.path)) for id_, files in copies if files}


def copies_in_scope(
    snapshot: Snapshot, chunks: Mapping[ChunkId, IndexedChunk], scope: Scope
) -> dict[ChunkId, list[IndexedChunk]]:
    """Return each passage once for each file of the scope that shares its text, sorted by path."""
    sharing = snapshot.shared_texts.sharing({stored.holder_id for stored in chunks.values()})
    return {id_: list(_in_files(stored, sharing.get(stored.holder_id, ()), scope)) for id_, stored in chunks.items()}


def _in_files(chunk: IndexedChunk, sharing: Sequence[SharingFile], scope: Scope) -> Iterator[IndexedChunk]:
    if not sharing:
        yield chunk
        return
    holder = SharingFile(chunk.holder_id, chunk.path, chunk.mtime_ns)
    for file in sorted((holder, *sharing), key=lambda sharing_file: sharing_file.path):
        if scope.file_ids is None or file.id in scope.file_ids:
            yield chunk._replace(path=file.path, mtime_ns=file.mtime_ns)


def _nearness(near: FilePath | None, path: FilePath) -> int:
    """Return the number of leading directories that two paths share."""
    pairs = zip((near or "").split(os.sep), path.split(os.sep), strict=False)
    return sum(1 for _ in takewhile(lambda parts: parts[0] == parts[1], pairs))


_MAX_COPIES: Final = 1_000
