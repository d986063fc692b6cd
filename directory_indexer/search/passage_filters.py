"""Conditions on single passages: a line that matches a pattern, and the time of a turn in a transcript.

Files with such a passage decide the scope, texts the passages.
"""

from __future__ import annotations

from collections.abc import Mapping

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.search.requests import SearchRequest
from directory_indexer.search.scope import Scope, scope_of_files
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from directory_indexer.formats.transcripts import events
    from directory_indexer.matching import LinePattern, PatternOptions
    from directory_indexer.search.grep import GrepRequest, grep


def narrow_scope(snapshot: Snapshot, scope: Scope, request: SearchRequest) -> Scope:
    """Restrict a scope to the files with a line that matches the pattern of a request, if it has one.

    Raises:
        UsageError: the pattern is invalid.
    """
    if not request.grep:
        return scope
    grep_request = GrepRequest(
        PatternOptions((request.grep,)), request.scope, request.kinds, request.globs, max_count=1, most_spans=0
    )
    paths = [file.path for file in grep(snapshot, grep_request).files]
    files = snapshot.files.at(paths)
    if scope.file_ids is not None:
        files = [file for file in files if file.id in scope.file_ids]
    return scope_of_files(snapshot, files, scope.vectors)


def filter_passages(chunks: Mapping[ChunkId, IndexedChunk], request: SearchRequest) -> dict[ChunkId, IndexedChunk]:
    """Drop passages without a matching line, and turns of transcripts outside the requested time."""
    if request.since is not None or request.until is not None:
        chunks = {id_: stored for id_, stored in chunks.items() if _is_within_time_filter(stored, request)}
    if not request.grep:
        return dict(chunks)
    pattern = LinePattern(PatternOptions((request.grep,)))
    return {id_: stored for id_, stored in chunks.items() if pattern.first(stored.chunk.text.encode()) is not None}


def _is_within_time_filter(stored: IndexedChunk, request: SearchRequest) -> bool:
    """Whether a turn is within the requested time; of other passages, the file has been checked."""
    moment = events.turn_time(stored.chunk.heading) if stored.facts.kind == "transcript" else None
    if moment is None:
        return True
    is_late_enough = request.since is None or moment + events.HEADING_PRECISION_SECONDS > request.since
    return is_late_enough and (request.until is None or moment < request.until)
