"""Qdrant's engine in this process: writing of drafts, and translation of errors.

The engine holds Python's interpreter lock for the whole of a call.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

import qdrant_edge as edge

from directory_indexer.errors import VectorStoreError
from directory_indexer.ids import ChunkId
from directory_indexer.vectorstore import VectorPoint
from directory_indexer.vectorstore.engine_points import engine_point

ENGINE_BATCH = 1000
"""The number of points that one call reads or writes."""

CODES = "tq_vectors.dat"

_EDGES, _EF_CONSTRUCT = 16, 200
_POINTS_AT_ONCE = 25_000

Item = TypeVar("Item")

_DISK_FULL_MESSAGES = ("No space left on device", "Disk quota exceeded")


class EngineShape(NamedTuple):
    """The layout of vectors: their size, the size from which they have a graph, and the largest segment."""

    dimensions: int
    graph_from_kb: int
    max_segment_kb: int


def write_draft(
    draft: Path,
    shape: EngineShape,
    *,
    is_new: bool,
    deletes: Iterable[ChunkId],
    upserts: Iterable[VectorPoint],
) -> int:
    """Write changes to a draft, new or a copy of a generation, and prepare it for reading; return its vector count."""
    with contextlib.closing(_open_shard(draft, shape, is_new=is_new)) as shard:
        _write_points(shard, deletes, upserts)
        n_vectors = n_points(shard)
    # The first opening after a write still changes files; later ones do not.
    edge.EdgeShard.load(str(draft)).close()
    bring_into_memory(draft.rglob(CODES))
    return n_vectors


def n_points(shard: edge.EdgeShard) -> int:
    """Return the number of vectors."""
    # Without a filter this adds up the counts of the segments, at least in this version of the engine: check again when
    # it is upgraded. "exact" would first collect all ids: 140 MB for 2.5 million.
    return shard.count(edge.CountRequest(exact=False))


def bring_into_memory(paths: Iterable[Path]) -> None:
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
            # The engine would fault them in page by page; `bring_into_memory` reads them sequentially.
            memory=edge.Memory.Cold,
        ),
        hnsw_config=edge.HnswIndexConfig(
            m=_EDGES, ef_construct=_EF_CONSTRUCT, full_scan_threshold=10_000, payload_m=0, memory=edge.Memory.Cold
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
    for ids in batches(deletes):
        shard.update(edge.UpdateOperation.delete_points([UUID(bytes=chunk_id) for chunk_id in ids]))
    n_new = 0
    for points in batches(upserts):
        shard.update(edge.UpdateOperation.upsert_points([engine_point(point) for point in points]))
        n_new += len(points)
        if n_new % _POINTS_AT_ONCE == 0:
            shard.optimize()
    shard.optimize()
    shard.flush()


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield lists of at most `ENGINE_BATCH` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, ENGINE_BATCH)):
        yield batch
