"""Finds the files that have the passage of a hit: in work trees, clones and copies."""

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


def also_in(snapshot: Snapshot, ranked: Ranked, path: FilePath, scope: Scope) -> tuple[FilePath, ...]:
    """Name the other files of a scope that have a passage of a file, sorted.

    The index knows those with the same name, and the ranking those with other names that it came across.
    """
    found = snapshot.chunks.copies(ranked.chunk_id, limit=_MOST)
    named = {other for file_id, other in found if scope.file_ids is None or file_id in scope.file_ids}
    return tuple(sorted((named | set(ranked.copies)) - {path}))


def nearest_copy(
    snapshot: Snapshot, chunk: IndexedChunk, others: Sequence[FilePath], near: FilePath | None
) -> IndexedChunk:
    """Give a passage in that of all files with it that is nearest to a directory: where it is, if none is nearer."""
    nearest = max((chunk.path, *others), key=partial(_nearness, near))
    if nearest == chunk.path:
        return chunk
    words = chunk.chunk.text.split()
    return next((one for one in snapshot.chunks.of_file(nearest) if one.chunk.text.split() == words), chunk)


def placed(
    snapshot: Snapshot, chunks: Mapping[ChunkId, IndexedChunk], scope: Scope, near: FilePath | None
) -> dict[ChunkId, IndexedChunk]:
    """Let each passage stand in a file of the scope: of those that share a text, in the nearest, else the first."""
    found = all_placed(snapshot, chunks, scope).items()
    return {id_: max(files, key=lambda one: _nearness(near, one.path)) for id_, files in found if files}


def all_placed(
    snapshot: Snapshot, chunks: Mapping[ChunkId, IndexedChunk], scope: Scope
) -> dict[ChunkId, list[IndexedChunk]]:
    """Give each passage once for each file of the scope that shares its text, sorted by path."""
    sharing = snapshot.shared_texts.sharing({one.holder_id for one in chunks.values()})
    return {id_: list(_in_files(one, sharing.get(one.holder_id, ()), scope)) for id_, one in chunks.items()}


def _in_files(chunk: IndexedChunk, sharing: Sequence[SharingFile], scope: Scope) -> Iterator[IndexedChunk]:
    if not sharing:
        yield chunk
        return
    holder = SharingFile(chunk.holder_id, chunk.path, chunk.mtime_ns)
    for file in sorted((holder, *sharing), key=lambda one: one.path):
        if scope.file_ids is None or file.id in scope.file_ids:
            yield chunk._replace(path=file.path, mtime_ns=file.mtime_ns)


def _nearness(near: FilePath | None, path: FilePath) -> int:
    """Count the directories around a path that are around another one, too."""
    both = zip((near or "").split(os.sep), path.split(os.sep), strict=False)
    return sum(1 for _ in takewhile(lambda parts: parts[0] == parts[1], both))


_MOST: Final = 1_000
