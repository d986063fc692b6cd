"""Qdrant's engine in this process: drafts, points, filters, the open generation, and translation of errors.

The engine holds Python's interpreter lock for the whole of a call. A generation is kept open until another one is
needed.
"""

from __future__ import annotations

import contextlib
import os
import threading
from array import array
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import qdrant_edge as edge

from directory_indexer.core.batching import batched
from directory_indexer.core.errors import GenerationGoneError, VectorsLostError, VectorStoreError
from directory_indexer.core.ids import ChunkId, content_hash
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.vectors import VectorPoint, VectorScope
from directory_indexer.storage.vectors.generations import Generations, HeldGeneration

ENGINE_BATCH_POINTS = 1000
"""The number of points that one call reads or writes."""

CODES_FILE = "tq_vectors.dat"

_GRAPH_EDGES, _EF_CONSTRUCT = 16, 200
_POINTS_AT_ONCE = 25_000

_DISK_FULL_MESSAGES = ("No space left on device", "Disk quota exceeded")

_TAG_BYTES = 6

_OLD_CODES_FILE = "quantized.data"


class EngineShape(NamedTuple):
    """The layout of vectors: their size, the size from which they have a graph, and the largest segment."""

    dimensions: int
    graph_from_kb: int
    max_segment_kb: int


def write_draft(
    draft: Path, shape: EngineShape, *, is_new: bool, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]
) -> int:
    """Write changes to a draft, new or a copy of a generation, and prepare it for reading; return its vector count."""
    with contextlib.closing(_open_shard(draft, shape, is_new=is_new)) as shard:
        _write_points(shard, deletes, upserts)
        n_vectors = n_points(shard)
    # The first opening after a write still changes files; later ones do not.
    edge.EdgeShard.load(str(draft)).close()
    read_into_page_cache(draft.rglob(CODES_FILE))
    return n_vectors


def n_points(shard: edge.EdgeShard) -> int:
    """Return the number of vectors."""
    # Without a filter this adds up the counts of the segments, at least in this version of the engine: check again when
    # it is upgraded. "exact" would first collect all ids: 140 MB for 2.5 million.
    return shard.count(edge.CountRequest(exact=False))


def read_into_page_cache(paths: Iterable[Path]) -> None:
    """Read the codes into the page cache; the engine, which maps them page by page, takes ten times as long."""
    for path in paths:
        with path.open("rb", buffering=0) as codes:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(codes.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
            else:
                while codes.read(1 << 20):
                    pass


@contextlib.contextmanager
def translated_errors(doing: str, kind: type[VectorStoreError] = VectorStoreError) -> Iterator[None]:
    """Translate the engine's exceptions into errors of the vector store."""
    try:
        yield
    except Exception as error:
        # The engine raises plain exceptions, whatever the cause; subclasses come from elsewhere.
        if type(error) is Exception or isinstance(error, OSError):
            if any(reason in str(error) for reason in _DISK_FULL_MESSAGES):  # no published file is damaged by it
                raise VectorStoreError(f"cannot {doing}: {error}", hint="free some disk space") from error
            raise kind(f"cannot {doing}: {error}", hint="dirindex doctor --repair") from error
        raise


def engine_point(point: VectorPoint) -> edge.Point:
    """Return the engine's point of a vector."""
    # A view of the bytes takes half the time of a list of floats.
    vector: Any = memoryview(point.vector).cast("f")
    payload = {
        "file_path": _path_tag(point.file_path),
        "parent_directories": [*map(_path_tag, point.parent_directories)],
    }
    return edge.Point(UUID(bytes=point.chunk_id), vector, payload)


def chunk_id_in(point: edge.Record | edge.ScoredPoint) -> ChunkId:
    """Return the chunk of a point."""
    id_: Any = point.id
    return ChunkId(id_.bytes)


def parse_old_point(record: edge.Record) -> VectorPoint:
    """Return the vector of a point of an older version, whose payload contains whole paths."""
    payload = record.payload or {}
    numbers: Any = record.vector
    vector = array("f", numbers).tobytes()
    return VectorPoint(chunk_id_in(record), payload["file_path"], tuple(payload["parent_directories"]), vector)


def scope_filter(scope: VectorScope) -> edge.Filter | None:
    """Return the filter of a scope; None if everything is in it."""
    fields = (("parent_directories", scope.directories), ("file_path", scope.files))
    conditions: list[Any] = [
        # An older generation contains the paths themselves.
        edge.FieldCondition(key=field, match=edge.MatchAny([*map(_path_tag, paths), *paths]))
        for field, paths in fields
        if paths
    ]
    # A filter that everything satisfies costs as much as the search itself.
    return edge.Filter(should=conditions) if conditions else None


class GenerationReader:
    """Read access to one generation at a time, by the embedded engine; threads may share it."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._lock = threading.Lock()
        self._opened: _OpenGeneration | None = None
        self._abandoned: list[edge.EdgeShard] = []
        """Shards that are never closed: closing them would access pages that no longer exist."""

    @contextlib.contextmanager
    def reading(self, generation: int) -> Iterator[edge.EdgeShard | None]:
        """Yield a generation for queries of one thread at a time, opening it if necessary; None for the empty one."""
        if generation == 0:
            yield None
            return
        with self._lock, translated_errors("read vectors", VectorsLostError):
            if self._opened is None or self._opened.number != generation:
                # Opened before the old one is closed, so that shared files stay in memory.
                outdated, self._opened = self._opened, self._open(generation)
                if outdated:
                    self._close_shard(outdated)
            else:
                self._require_whole(self._opened)
            yield self._opened.shard

    def discard_others(self, generation: int) -> None:
        """Remove all other generations that are not being read."""
        with self._lock, translated_errors("remove old vectors"):
            opened = self._opened
            if opened and opened.number != generation:
                self._opened = None
                self._close_shard(opened)
            self._generations.discard_others(generation)

    def close(self) -> None:
        """Close the open generation; the next query opens it again."""
        with self._lock, translated_errors("close vectors"):
            opened, self._opened = self._opened, None
            if opened:
                self._close_shard(opened)

    def _require_whole(self, opened: _OpenGeneration) -> None:
        """Ensure that an open generation can be read without a crash of the process."""
        try:
            opened.held.require_complete()
        except VectorsLostError:
            self._opened = None
            self._close_shard(opened)
            raise

    def _close_shard(self, opened: _OpenGeneration) -> None:
        try:
            opened.held.require_complete()
        except VectorsLostError:
            self._abandoned.append(opened.shard)
            opened.held.release()
        else:
            opened.close()

    def _open(self, generation: int) -> _OpenGeneration:
        held = self._generations.lock(generation)
        if held is None:
            raise GenerationGoneError(f"generation {generation} is gone")
        try:
            held.files.allocate(held.lengths)
            # The directory is not listed: other readers create and remove files in it.
            read_into_page_cache(
                held.files.path / name
                for name in held.lengths
                if os.path.basename(name) in {CODES_FILE, _OLD_CODES_FILE}
            )
            return _OpenGeneration(generation, edge.EdgeShard.load(str(held.files.path)), held)
        except BaseException:
            held.release()
            raise


def _open_shard(draft: Path, shape: EngineShape, *, is_new: bool) -> edge.EdgeShard:
    if not is_new:
        # Opened with its own configuration: with another one the engine would rebuild it in one segment.
        return edge.EdgeShard.load(str(draft))
    shard = edge.EdgeShard.create(str(draft), _engine_config(shape))
    for field in ("file_path", "parent_directories"):
        # An index in memory is rebuilt at every opening: 220 ms at 100 000 vectors against 10.
        index = edge.KeywordIndexParams(memory=edge.Memory.Cold, enable_hnsw=False)
        shard.update(edge.UpdateOperation.create_field_index(field, index))
    return shard


def _engine_config(shape: EngineShape) -> edge.EdgeConfig:
    """Return the configuration: codes of eight bits a number and a graph, in the page cache, without full vectors.

    Each vector is rotated before it is rounded, so that no model has numbers too large for the codes; writing a
    vector that was read gives the same code again. Half-precision vectors for rescoring would take thrice the space
    and find 0.4 % more. The graph takes 45 bytes a vector.
    """
    return edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(
            size=shape.dimensions,
            distance=edge.Distance.Cosine,
            datatype=edge.VectorStorageDatatype.Turbo8,
            # The engine would fault them in page by page; `warm_page_cache` reads them sequentially.
            memory=edge.Memory.Cold,
        ),
        hnsw_config=edge.HnswIndexConfig(
            m=_GRAPH_EDGES, ef_construct=_EF_CONSTRUCT, full_scan_threshold=10_000, payload_m=0, memory=edge.Memory.Cold
        ),
        optimizers=edge.EdgeOptimizersConfig(
            default_segment_number=1, max_segment_size=shape.max_segment_kb, indexing_threshold=shape.graph_from_kb
        ),
        # In memory, the ids of a million vectors take 60 ms of every opening, and 40 MB while it is open.
        id_tracker_memory=edge.Memory.Cold,
        # An unpublished draft is never opened again, so there is nothing to recover.
        wal_enabled=False,
    )


def _write_points(shard: edge.EdgeShard, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> None:
    for ids in batched(deletes, ENGINE_BATCH_POINTS):
        shard.update(edge.UpdateOperation.delete_points([UUID(bytes=chunk_id) for chunk_id in ids]))
    n_new = 0
    for points in batched(upserts, ENGINE_BATCH_POINTS):
        shard.update(edge.UpdateOperation.upsert_points([engine_point(point) for point in points]))
        n_new += len(points)
        if n_new % _POINTS_AT_ONCE == 0:
            shard.optimize()
    shard.optimize()
    shard.flush()


@lru_cache(maxsize=1 << 12)
def _path_tag(path: FilePath) -> str:
    """Return a short hash of a path for payloads, whose indexes repeat it for every chunk.

    Two paths in a million million share a tag, so callers check the paths of results.
    """
    return urlsafe_b64encode(content_hash(path.encode())[:_TAG_BYTES]).decode()


class _OpenGeneration(NamedTuple):
    number: int
    shard: edge.EdgeShard
    held: HeldGeneration

    def close(self) -> None:
        try:
            self.shard.close()
        finally:
            self.held.release()
