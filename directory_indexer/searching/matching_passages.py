"""Passages of which a line matches a pattern: the files that have any decide the scope, the texts the passages."""

from __future__ import annotations

import json
from collections.abc import Mapping

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.store import Snapshot
from directory_indexer.ids import ChunkId
from directory_indexer.matching.patterns import LinePattern, PatternOptions
from directory_indexer.searching.answers import SearchRequest
from directory_indexer.searching.grep import GrepRequest, grep
from directory_indexer.searching.scope import NAMED_FILES, Scope
from directory_indexer.vectorstore import VectorScope


def narrowed_scope(snapshot: Snapshot, scope: Scope, request: SearchRequest) -> Scope:
    """Leave of a scope the files with a line that matches the pattern of a request, if it has one.

    Raises:
        UsageError: the pattern cannot be meant.
    """
    if not request.grep:
        return scope
    wanted = GrepRequest(
        PatternOptions((request.grep,)), request.scope, request.kinds, request.globs, max_count=1, most_spans=0
    )
    paths = [one.path for one in grep(snapshot, wanted).files]
    ids = frozenset(snapshot.files.ids_of(paths))
    if scope.file_ids is not None:
        ids &= scope.file_ids
    vectors = VectorScope(files=tuple(paths)) if len(paths) <= NAMED_FILES else scope.vectors
    return Scope(ids, vectors, json.dumps(sorted(ids)))


def with_matches(chunks: Mapping[ChunkId, IndexedChunk], request: SearchRequest) -> dict[ChunkId, IndexedChunk]:
    """Leave out the passages that have no line that matches."""
    if not request.grep:
        return dict(chunks)
    pattern = LinePattern(PatternOptions((request.grep,)))
    return {id_: one for id_, one in chunks.items() if pattern.first(one.chunk.text.encode()) is not None}
