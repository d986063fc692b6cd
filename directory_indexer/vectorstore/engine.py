"""Qdrant's engine in this process: how it writes a draft, and what its errors mean.

It holds Python's interpreter lock for the whole of a call.
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
"""So many points are read or written by one call."""

CODES = "tq_vectors.dat"

_EDGES, _EF_CONSTRUCT = 16, 200
_POINTS_AT_ONCE = 25_000

Item = TypeVar("Item")

_NO_ROOM = ("No space left on device", "Disk quota exceeded")


class EngineShape(NamedTuple):
    """How vectors are kept: their size, from when on they have a graph, and how large the piece of one graph is."""

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
    """Change a draft, a new one or the copy of a generation, and make it ready to be read; count its vectors."""
    with contextlib.closing(_opened(draft, shape, is_new=is_new)) as shard:
        _apply(shard, deletes, upserts)
        n_vectors = n_points(shard)
    # The first opening after a write still changes files; after it, none does.
    edge.EdgeShard.load(str(draft)).close()
    bring_into_memory(draft.rglob(CODES))
    return n_vectors


def n_points(shard: edge.EdgeShard) -> int:
    """Count the vectors."""
    # Without a filter this sums up what the segments hold, as far as is known of this version of the engine: look again
    # when it is another. "exact" would first collect all ids: 140 MB for 2.5 million.
    return shard.count(edge.CountRequest(exact=False))


def bring_into_memory(paths: Iterable[Path]) -> None:
    """Have the codes read into the page cache, which takes the engine ten times longer: it maps them page by page."""
    for path in paths:
        with path.open("rb", buffering=0) as codes:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(codes.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
            else:
                while codes.read(1 << 20):
                    pass


@contextlib.contextmanager
def translated_errors(doing: str, kind: type[VectorStoreError] = VectorStoreError) -> Iterator[None]:
    """Turn what the engine raises into errors of the vector store."""
    try:
        yield
    except Exception as error:
        # The engine raises plain exceptions, whatever the cause; subclasses come from elsewhere.
        if type(error) is Exception or isinstance(error, OSError):
            if any(reason in str(error) for reason in _NO_ROOM):  # which damages nothing that is published
                raise VectorStoreError(f"cannot {doing}: {error}", hint="free some disk space") from error
            raise kind(f"cannot {doing}: {error}", hint="dirindex doctor --repair") from error
        raise


def _opened(draft: Path, shape: EngineShape, *, is_new: bool) -> edge.EdgeShard:
    if not is_new:
        # As it was made: with another configuration the engine would make all of it anew, in one piece.
        return edge.EdgeShard.load(str(draft))
    shard = edge.EdgeShard.create(str(draft), _config(shape))
    for field in ("file_path", "parent_directories"):
        # An index that is read into memory is rebuilt at every opening: 220 ms at 100 000 vectors against 10.
        index = edge.KeywordIndexParams(memory=edge.Memory.Cold, enable_hnsw=False)
        shard.update(edge.UpdateOperation.create_field_index(field, index))
    return shard


def _config(shape: EngineShape) -> edge.EdgeConfig:
    """Describe codes of eight bits a number and a graph, in the page cache, without full vectors beside them.

    Each vector is rotated before it is rounded, so that no model has numbers too large for the codes; writing a
    vector that was read gives the same code again. Half-precision vectors for rescoring would take thrice the space
    and find 0.4 % more. The graph takes 45 bytes a vector.
    """
    return edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(
            size=shape.dimensions,
            distance=edge.Distance.Cosine,
            datatype=edge.VectorStorageDatatype.Turbo8,
            # The engine would fault them in page by page; we read them through.
            memory=edge.Memory.Cold,
        ),
        hnsw_config=edge.HnswIndexConfig(
            m=_EDGES, ef_construct=_EF_CONSTRUCT, full_scan_threshold=10_000, payload_m=0, memory=edge.Memory.Cold
        ),
        optimizers=edge.EdgeOptimizersConfig(
            default_segment_number=1, max_segment_size=shape.max_segment_kb, indexing_threshold=shape.graph_from_kb
        ),
        # Read into memory, the ids of a million vectors take 60 ms of every opening, and 40 MB while it is open.
        id_tracker_memory=edge.Memory.Cold,
        # What is not published is never opened again, so that there is nothing to recover.
        wal_enabled=False,
    )


def _apply(shard: edge.EdgeShard, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> None:
    for ids in batches(deletes):
        shard.update(edge.UpdateOperation.delete_points([UUID(bytes=one) for one in ids]))
    n_new = 0
    for points in batches(upserts):
        shard.update(edge.UpdateOperation.upsert_points([engine_point(point) for point in points]))
        n_new += len(points)
        if n_new % _POINTS_AT_ONCE == 0:
            shard.optimize()
    shard.optimize()
    shard.flush()


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Part what goes into the engine, or comes out of it, into batches."""
    iterator = iter(items)
    while batch := list(islice(iterator, ENGINE_BATCH)):
        yield batch
