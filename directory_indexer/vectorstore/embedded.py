"""The vector store in this process: Qdrant's embedded engine, over files that only this user can read.

Every published generation is immutable, for the engine allows no second opener beside a writer, but any number of
openers of what nobody writes. The engine holds Python's interpreter lock for the whole of a call.
"""

from __future__ import annotations

import contextlib
import os
import threading
from array import array
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import qdrant_edge as edge

from directory_indexer.errors import GenerationGoneError, VectorsLostError, VectorStoreError
from directory_indexer.findings import Finding, Verdict
from directory_indexer.ids import ChunkId, content_hash
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore import VectorHit, VectorPlace, VectorPoint, VectorScope
from directory_indexer.vectorstore.generations import Generations, HeldGeneration

with lazily:
    import numpy as np
    from numpy.typing import NDArray


_BATCH = 1000

_OVERSAMPLING = 2.0
"""In an older generation so many times more candidates are compared by their full vectors than are asked for."""

_TAG_BYTES = 6

_EDGES, _EF_CONSTRUCT, _EF = 16, 200, 512
"""Among 33,000 passages of documentation, code and PDFs, 99.3 % of the ten nearest are found by these, and 99.4 % by
comparing all codes; with half of each, 97 %, and less than half of them for some questions."""

_POINTS_AT_ONCE = 25_000

_CODES = "tq_vectors.dat"
_OLD_CODES = "quantized.data"

_NEVER_WRITTEN = frozenset({_CODES, "point_to_values.bin", "values_to_points.bin", "links_compressed.bin"})
"""The large files that the engine opens for reading only, or replaces as a whole."""

_FORMAT = b'"datatype":"turbo8"'
"""Stands in the configuration of a generation whose vectors are codes alone; older ones have others beside them."""


class _Reader(NamedTuple):
    number: int
    shard: edge.EdgeShard
    held: HeldGeneration

    def close(self) -> None:
        try:
            self.shard.close()
        finally:
            self.held.release()


class EmbeddedVectorStore:
    """The vectors of one index in a directory; threads may share it."""

    place = VectorPlace.EMBEDDED

    merge_at = 4096
    """Pending vectors are searched one by one: 4096 cost a cold search about 5 ms, and a merge about a second."""

    keep_pending = 1024
    """So that an edited file costs one small transaction."""

    graph_from_kb = 20_000
    max_segment_kb = 40_000
    """New vectors are compared one by one until there are some 50,000 of them; then they get a graph, in which a search
    looks at hundreds instead. It is built together with that of the last segment until that has some 100,000, which
    takes half a minute of processor time at most, however large the index is: 0.4 ms a vector, where embedding one
    takes 20."""

    def __init__(self, generations: Generations, *, dimensions: int) -> None:
        self._generations = generations
        self._dimensions = dimensions
        self._lock = threading.Lock()
        self._reader: _Reader | None = None
        self._abandoned: list[edge.EdgeShard] = []
        """Closing these would touch what is no longer there."""

    def prepare(self, generation: int) -> None:
        """Do nothing: the engine is always there."""

    def search(
        self, generation: int, vector: NDArray[np.float32], *, scope: VectorScope, limit: int
    ) -> list[VectorHit]:
        """Find the chunks in the scope that are most similar to a vector, best first.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        condition = _filter(scope)
        params = edge.SearchParams(
            # A graph knows nothing of scopes, and the vectors in one are found by its index.
            exact=condition is not None,
            hnsw_ef=max(_EF, limit),
            quantization=edge.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING),
        )
        return self._query(generation, vector, condition, params, limit)

    def cosines(self, generation: int, vector: NDArray[np.float32], ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        """Compare a vector with those of some chunks, as far as they have one.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        wanted = edge.Filter(must=[edge.HasIdCondition({UUID(bytes=one) for one in ids})])
        exactly = edge.SearchParams(exact=True, quantization=edge.QuantizationSearchParams(ignore=True))
        return dict(self._query(generation, vector, wanted, exactly, len(ids)))

    def _query(
        self,
        generation: int,
        vector: NDArray[np.float32],
        condition: edge.Filter | None,
        params: edge.SearchParams,
        limit: int,
    ) -> list[VectorHit]:
        request = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(vector.tolist()),
            filter=condition,
            params=params,
            with_payload=False,
        )
        with self._reading(generation) as shard:
            found = shard.query(request) if shard else []
        return [VectorHit(_chunk_id(point), point.score) for point in found]

    def vectors(self, generation: int, ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Give the vectors of those chunks that have one, as near as its eight bits a number come.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        # Runs that find nothing to do need the store but no vector, and loading numpy takes 60 ms of processor time.

        vectors: dict[ChunkId, NDArray[np.float32]] = {}
        for batch in _batches(ids):
            wanted: list[Any] = [UUID(bytes=one) for one in batch]
            with self._reading(generation) as shard:
                records = shard.retrieve(wanted, with_payload=False, with_vector=True) if shard else []
            vectors |= {_chunk_id(record): np.array(record.vector, np.float32) for record in records}
        return vectors

    def ids(self, generation: int) -> Iterator[ChunkId]:
        """Give the ids of all chunks that have a vector.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        offset: Any = None
        while True:
            request = edge.ScrollRequest(limit=_BATCH, offset=offset, with_payload=False, with_vector=False)
            with self._reading(generation) as shard:
                records, offset = shard.scroll(request) if shard else ([], None)
            yield from (_chunk_id(record) for record in records)
            if offset is None:
                return

    def count(self, generation: int) -> int:
        """Count the vectors.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        with self._reading(generation) as shard:
            return _n_points(shard) if shard else 0

    def require_whole(self, generation: int, *, n_vectors: int) -> None:
        """Look, without opening the engine, whether a generation is there and was published with so many vectors.

        Raises:
            VectorsLostError: it is not there, damaged, or stems from another state of the database.
        """
        if generation and (found := self._generations.n_vectors(generation)) != n_vectors:
            raise VectorsLostError(f"the vector store holds {found} vectors, and the database names {n_vectors}")

    def require_intact(self, generation: int) -> None:
        """Read a generation, and look whether every byte is as it was published.

        Raises:
            VectorsLostError: it is not there or damaged.
        """
        if generation:
            self._generations.require_intact(generation)

    def merge(self, generation: int, *, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> int:
        """Publish a new generation, that of the given one without `deletes` and then with `upserts`; give its number.

        It is durable on return, and garbage until the database names it. Work goes on in batches, but some calls of
        the engine take seconds during which no other thread of this process runs. What this process reads is closed
        meanwhile unless somebody asks: it maps the files with the ids of all vectors, 44 bytes each, and so does what
        is written. What an older version wrote is written anew in the format of this one.

        Raises:
            VectorStoreError: the given generation is damaged, or the new one cannot be written.
        """
        if generation and _FORMAT not in self._generations.content(generation, "edge_config.json"):
            self._generations.require_space(generation)
            gone = frozenset(deletes)
            kept = (point for point in self._points(generation) if point.chunk_id not in gone)
            return self.merge(0, deletes=(), upserts=chain(kept, upserts))
        self.close()
        with (
            _translated_errors("write vectors"),
            self._generations.draft(generation, linked=_NEVER_WRITTEN) as draft,
        ):
            with contextlib.closing(self._open_draft(draft, is_new=not generation)) as shard:
                _apply(shard, deletes, upserts)
                n_vectors = _n_points(shard)
            # The first opening after a write still changes files; after it, none does.
            edge.EdgeShard.load(str(draft)).close()
            _bring_into_memory(draft.rglob(_CODES))
            return self._generations.publish(draft, n_vectors=n_vectors)

    def discard_others(self, generation: int) -> None:
        """Remove what crashes left behind, and all generations but the given one that nobody reads any more."""
        with self._lock, _translated_errors("remove old vectors"):
            reader = self._reader
            if reader and reader.number != generation:
                self._reader = None
                self._leave(reader)
            self._generations.discard_others(generation)

    def health(self) -> Finding:
        """Tell how large the files are."""
        message = f"the embedded engine keeps {self._generations.size_bytes() / 1e6:,.1f} MB of vectors"
        return Finding("vector store", Verdict.OK, message)

    def clear(self) -> None:
        """Remove every generation that nobody reads."""
        self.close()
        self.discard_others(0)

    def close(self) -> None:
        """Give back files and memory; calling it twice is harmless, and a later call opens the store again.

        It takes some 10 ms of waiting for the disk, and empties the page cache. A process that has nothing else to
        close may end by `os._exit` instead, which loses nothing.
        """
        with self._lock, _translated_errors("close vectors"):
            reader, self._reader = self._reader, None
            if reader:
                self._leave(reader)

    def _points(self, generation: int) -> Iterator[VectorPoint]:
        """Give all that a generation holds; only for one of an older version, whose payloads are whole paths."""
        offset: Any = None
        while True:
            request = edge.ScrollRequest(limit=_BATCH, offset=offset, with_payload=True, with_vector=True)
            with self._reading(generation) as shard:
                records, offset = shard.scroll(request) if shard else ([], None)
            yield from map(_old_point, records)
            if offset is None:
                return

    @contextlib.contextmanager
    def _reading(self, generation: int) -> Iterator[edge.EdgeShard | None]:
        if generation == 0:
            yield None
            return
        with self._lock, _translated_errors("read vectors", VectorsLostError):
            if self._reader is None or self._reader.number != generation:
                # Opened first, so that what both share stays in memory.
                outdated, self._reader = self._reader, self._open(generation)
                if outdated:
                    self._leave(outdated)
            else:
                self._require_whole(self._reader)
            yield self._reader.shard

    def _require_whole(self, reader: _Reader) -> None:
        """Make sure that a generation that was opened before can be read without ending the process."""
        try:
            reader.held.require_whole()
        except VectorsLostError:
            self._reader = None
            self._leave(reader)
            raise

    def _leave(self, reader: _Reader) -> None:
        try:
            reader.held.require_whole()
        except VectorsLostError:
            self._abandoned.append(reader.shard)
            reader.held.release()
        else:
            reader.close()

    def _open(self, generation: int) -> _Reader:
        held = self._generations.hold(generation)
        if held is None:
            raise GenerationGoneError(f"generation {generation} of the vectors is gone")
        try:
            # Not a walk: other readers make and remove files of their own in there while they open and close it.
            _bring_into_memory(
                held.path / name for name in held.lengths if os.path.basename(name) in {_CODES, _OLD_CODES}
            )
            return _Reader(generation, edge.EdgeShard.load(str(held.path)), held)
        except BaseException:
            held.release()
            raise

    def _open_draft(self, draft: Path, *, is_new: bool) -> edge.EdgeShard:
        if not is_new:
            # As it was made: with another configuration the engine would make all of it anew, in one piece.
            return edge.EdgeShard.load(str(draft))
        shard = edge.EdgeShard.create(str(draft), self._engine_config())
        for field in ("file_path", "parent_directories"):
            # An index that is read into memory is rebuilt at every opening: 220 ms at 100 000 vectors against 10.
            index = edge.KeywordIndexParams(memory=edge.Memory.Cold, enable_hnsw=False)
            shard.update(edge.UpdateOperation.create_field_index(field, index))
        return shard

    def _engine_config(self) -> edge.EdgeConfig:
        """Describe codes of eight bits a number and a graph, in the page cache, without full vectors beside them.

        Each vector is rotated before it is rounded, so that no model has numbers too large for the codes; writing a
        vector that was read gives the same code again. Half-precision vectors for rescoring would take thrice the space
        and find 0.4 % more. The graph takes 45 bytes a vector.
        """
        return edge.EdgeConfig(
            vectors=edge.EdgeVectorParams(
                size=self._dimensions,
                distance=edge.Distance.Cosine,
                datatype=edge.VectorStorageDatatype.Turbo8,
                # The engine would fault them in page by page; we read them through.
                memory=edge.Memory.Cold,
            ),
            hnsw_config=edge.HnswIndexConfig(
                m=_EDGES, ef_construct=_EF_CONSTRUCT, full_scan_threshold=10_000, payload_m=0, memory=edge.Memory.Cold
            ),
            optimizers=edge.EdgeOptimizersConfig(
                default_segment_number=1, max_segment_size=self.max_segment_kb, indexing_threshold=self.graph_from_kb
            ),
            # Read into memory, the ids of a million vectors take 60 ms of every opening, and 40 MB while it is open.
            id_tracker_memory=edge.Memory.Cold,
            # What is not published is never opened again, so that there is nothing to recover.
            wal_enabled=False,
        )


def _apply(shard: edge.EdgeShard, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> None:
    for ids in _batches(deletes):
        shard.update(edge.UpdateOperation.delete_points([UUID(bytes=one) for one in ids]))
    n_new = 0
    for points in _batches(upserts):
        shard.update(edge.UpdateOperation.upsert_points([_engine_point(point) for point in points]))
        n_new += len(points)
        if n_new % _POINTS_AT_ONCE == 0:
            shard.optimize()
    shard.optimize()
    shard.flush()


def _n_points(shard: edge.EdgeShard) -> int:
    # Without a filter this sums up what the segments hold, as far as is known of this version of the engine: look again
    # when it is another. "exact" would first collect all ids: 140 MB for 2.5 million.
    return shard.count(edge.CountRequest(exact=False))


def _engine_point(point: VectorPoint) -> edge.Point:
    # A view of the bytes takes half the time of a list of floats.
    vector: Any = memoryview(point.vector).cast("f")
    payload = {"file_path": _tag(point.file_path), "parent_directories": [*map(_tag, point.parent_directories)]}
    return edge.Point(UUID(bytes=point.chunk_id), vector, payload)


@lru_cache(maxsize=1 << 12)
def _tag(path: FilePath) -> str:
    """Give what stands for a path in the payloads, whose indexes repeat it for every chunk.

    Two paths in a million million share a tag, so that who asks looks at the paths of what was found.
    """
    return urlsafe_b64encode(content_hash(path.encode())[:_TAG_BYTES]).decode()


def _chunk_id(point: edge.Record | edge.ScoredPoint) -> ChunkId:
    id_: Any = point.id
    return ChunkId(id_.bytes)


def _old_point(record: edge.Record) -> VectorPoint:
    payload = record.payload or {}
    numbers: Any = record.vector
    vector = array("f", numbers).tobytes()
    return VectorPoint(_chunk_id(record), payload["file_path"], tuple(payload["parent_directories"]), vector)


def _filter(scope: VectorScope) -> edge.Filter | None:
    fields = (("parent_directories", scope.directories), ("file_path", scope.files))
    conditions: list[Any] = [
        # An older generation has the paths themselves.
        edge.FieldCondition(key=field, match=edge.MatchAny([*map(_tag, paths), *paths]))
        for field, paths in fields
        if paths
    ]
    # A filter that everything satisfies costs as much as the search itself.
    return edge.Filter(should=conditions) if conditions else None


def _bring_into_memory(paths: Iterable[Path]) -> None:
    """Have the codes read into the page cache, which takes the engine ten times longer: it maps them page by page."""
    for path in paths:
        with path.open("rb", buffering=0) as codes:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(codes.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
            else:
                while codes.read(1 << 20):
                    pass


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


@contextlib.contextmanager
def _translated_errors(doing: str, kind: type[VectorStoreError] = VectorStoreError) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The engine raises plain exceptions, whatever the cause; subclasses come from elsewhere.
        if type(error) is Exception or isinstance(error, OSError):
            raise kind(f"cannot {doing}: {error}", hint="dirindex doctor --repair") from error
        raise
