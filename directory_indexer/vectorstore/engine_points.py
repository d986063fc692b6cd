"""Points and filters of the embedded engine."""

from __future__ import annotations

from array import array
from base64 import urlsafe_b64encode
from functools import lru_cache
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from directory_indexer.ids import ChunkId, content_hash
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore import VectorPoint, VectorScope

_TAG_BYTES = 6


def engine_point(point: VectorPoint) -> edge.Point:
    """Return the engine's point of a vector."""
    # A view of the bytes takes half the time of a list of floats.
    vector: Any = memoryview(point.vector).cast("f")
    payload = {"file_path": _tag(point.file_path), "parent_directories": [*map(_tag, point.parent_directories)]}
    return edge.Point(UUID(bytes=point.chunk_id), vector, payload)


def chunk_id_in(point: edge.Record | edge.ScoredPoint) -> ChunkId:
    """Return the chunk of a point."""
    id_: Any = point.id
    return ChunkId(id_.bytes)


def old_point(record: edge.Record) -> VectorPoint:
    """Return the vector of a point of an older version, whose payload contains whole paths."""
    payload = record.payload or {}
    numbers: Any = record.vector
    vector = array("f", numbers).tobytes()
    return VectorPoint(chunk_id_in(record), payload["file_path"], tuple(payload["parent_directories"]), vector)


def filter_of(scope: VectorScope) -> edge.Filter | None:
    """Return the filter of a scope; None if everything is in it."""
    fields = (("parent_directories", scope.directories), ("file_path", scope.files))
    conditions: list[Any] = [
        # An older generation contains the paths themselves.
        edge.FieldCondition(key=field, match=edge.MatchAny([*map(_tag, paths), *paths]))
        for field, paths in fields
        if paths
    ]
    # A filter that everything satisfies costs as much as the search itself.
    return edge.Filter(should=conditions) if conditions else None


@lru_cache(maxsize=1 << 12)
def _tag(path: FilePath) -> str:
    """Return a short hash of a path for payloads, whose indexes repeat it for every chunk.

    Two paths in a million million share a tag, so callers check the paths of results.
    """
    return urlsafe_b64encode(content_hash(path.encode())[:_TAG_BYTES]).decode()
