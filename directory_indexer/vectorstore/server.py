"""The vector store on a Qdrant server or cluster, which any number of indexes may share.

The invariant it guards: an index touches its own points alone. Its id is part of every point id, stands in every
payload, and is asked for by every filter. A merge changes the points in place: until the database names the new
generation it takes the new vectors from its own tables, so that a failure anywhere loses nothing.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models

from directory_indexer.errors import VectorsLostError, VectorStoreError
from directory_indexer.findings import Finding, Verdict
from directory_indexer.ids import ChunkId, chunk_id_of, uuid_text
from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorHit, VectorPlace, VectorPoint, VectorScope
from directory_indexer.vectorstore.collection import (
    EXACTLY,
    INDEX_FIELD,
    CollectionPlan,
    ensure_collection,
    require_fitting,
    search_params,
)

with lazily:
    from numpy.typing import NDArray

    from directory_indexer.vectorstore.connection import Connection


_READ_BATCH = 1000
_WRITE_BYTES = 4_000_000
"""One request; Qdrant takes 32 MB by default, proxies often less. A number takes some 12 bytes in JSON."""

_NUMBER_BYTES = 12


class QdrantServer:
    """The vectors of one index in a collection; threads may share it."""

    place = VectorPlace.SERVER

    merge_at = 1024
    """A few requests; waiting for each keeps a run from running ahead of the server."""

    keep_pending = 1
    """A small request costs a server nothing, and others who look at the collection see what is there."""

    def __init__(self, connection: Connection, plan: CollectionPlan, *, index_id: str, dimensions: int) -> None:
        self._connection = connection
        self._plan = plan
        self._index_id = index_id
        self._dimensions = dimensions
        self._write_batch = max(_WRITE_BYTES // (dimensions * _NUMBER_BYTES), 1)
        self._lock = threading.Lock()
        self._is_ready = False

    def prepare(self, generation: int) -> None:
        """Reach the server and find a collection that fits; only for an index without vectors it may be a new one."""
        with self._lock:
            if generation == 0 or not self._is_ready:
                self._connection.insist("prepare the collection", partial(self._prepare, generation))
                self._is_ready = True

    def search(
        self, generation: int, vector: NDArray[np.float32], *, scope: VectorScope, limit: int
    ) -> list[VectorHit]:
        """Find the chunks in the scope that are most similar to a vector, best first."""
        if generation == 0:
            return []
        return self._query(vector, self._filter(scope), search_params(self._plan), limit)

    def cosines(self, generation: int, vector: NDArray[np.float32], ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        """Compare a vector with those of some chunks, as far as they have one."""
        if generation == 0:
            return {}
        wanted = models.Filter(must=[self._own, models.HasIdCondition(has_id=[self._point_id(one) for one in ids])])
        return dict(self._query(vector, wanted, EXACTLY, len(ids)))

    def vectors(self, generation: int, ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Give the vectors of those chunks that have one."""
        vectors: dict[ChunkId, NDArray[np.float32]] = {}
        for batch in _batches(ids if generation else (), self._write_batch):
            records = self._connection.insist("read vectors", partial(self._read, batch))
            vectors |= {_chunk_id(record): self._vector(record) for record in records}
        return vectors

    def ids(self, generation: int) -> Iterator[ChunkId]:
        """Give the ids of all chunks that have a vector."""
        offset: Any = None
        while generation:
            records, offset = self._connection.insist("list vectors", partial(self._scroll, offset))
            yield from map(_chunk_id, records)
            if offset is None:
                return

    def count(self, generation: int) -> int:
        """Count the vectors."""
        if generation == 0:
            return 0
        return self._connection.insist("count vectors", self._count)

    def require_whole(self, generation: int, *, n_vectors: int) -> None:
        """Look whether there are any vectors; how many depends on whether a merge was cut off."""
        if generation and n_vectors and not self._connection.ask("count vectors", self._count):
            raise VectorsLostError(f"the collection '{self._name}' holds no vectors of this index any more")

    def require_intact(self, generation: int) -> None:
        """Do nothing: a server keeps checksums of its own."""

    def merge(self, generation: int, *, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> int:
        """Delete and upsert in place, each batch acknowledged before the next is sent; give the next number."""
        self.prepare(generation)
        if generation == 0:
            self._delete(models.FilterSelector(filter=models.Filter(must=[self._own])))
        for ids in _batches(deletes, _READ_BATCH):
            self._delete(models.PointIdsList(points=[self._point_id(one) for one in ids]))
        for points in _batches(upserts, self._write_batch):
            self._upsert([self._point(point) for point in points])
        return generation + 1

    def discard_others(self, generation: int) -> None:
        """Do nothing: a merge leaves nothing behind."""

    def clear(self) -> None:
        """Delete the vectors of this index; the collection stays, for others may share it."""
        self._delete(models.FilterSelector(filter=models.Filter(must=[self._own])))

    def health(self) -> Finding:
        """Tell the version of the server, how fast it answers, and how the collection is."""
        url = self._connection.address.url
        started = time.monotonic()
        version = self._connection.ask("tell its version", lambda client: client.info().version)
        server = f"Qdrant {version} at {url} answers in {time.monotonic() - started:.2f} s"
        try:
            info = self._connection.ask("describe the collection", lambda client: client.get_collection(self._name))
        except VectorsLostError:
            return Finding("vector store", Verdict.OK, f"{server}; it has no collection '{self._name}' yet")
        require_fitting(info, self._name, dimensions=self._dimensions)
        message = f"{server}; the collection '{self._name}' is {info.status.value}"
        if info.status is models.CollectionStatus.GREEN:
            return Finding("vector store", Verdict.OK, message)
        hint = "yellow: it is being optimised, grey: it will be; red: read the log of the server"
        is_broken = info.status is models.CollectionStatus.RED
        return Finding("vector store", Verdict.PROBLEM if is_broken else Verdict.WARNING, message, hint)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    @property
    def _name(self) -> str:
        return self._plan.name

    @property
    def _own(self) -> models.FieldCondition:
        return models.FieldCondition(key=INDEX_FIELD, match=models.MatchValue(value=self._index_id))

    @property
    def _consistency(self) -> models.ReadConsistencyType | None:
        wanted = self._plan.read_consistency
        return models.ReadConsistencyType(wanted) if wanted else None

    def _prepare(self, generation: int, client: QdrantClient) -> None:
        if generation and not client.collection_exists(self._name):
            raise VectorsLostError(
                f"the collection '{self._name}' is gone from the Qdrant server at {self._connection.address.url}",
                hint="dirindex index makes the vectors again from the stored texts",
            )
        ensure_collection(client, self._plan, dimensions=self._dimensions)

    def _filter(self, scope: VectorScope) -> models.Filter:
        fields = (("parent_directories", scope.directories), ("file_path", scope.files))
        places: list[models.Condition] = [
            models.FieldCondition(key=field, match=models.MatchAny(any=[str(path) for path in paths]))
            for field, paths in fields
            if paths
        ]
        return models.Filter(must=[self._own], should=places or None)

    def _query(
        self, vector: NDArray[np.float32], condition: models.Filter, params: models.SearchParams, limit: int
    ) -> list[VectorHit]:
        found = self._connection.ask(
            "search",
            lambda client: client.query_points(
                self._plan.name,
                query=vector.tolist(),
                query_filter=condition,
                search_params=params,
                limit=limit,
                with_payload=["chunk_id"],
                consistency=self._consistency,
            ),
        )
        return [VectorHit(_chunk_id(point), point.score) for point in found.points]

    def _read(self, ids: Sequence[ChunkId], client: QdrantClient) -> list[models.Record]:
        return client.retrieve(
            self._name,
            [self._point_id(one) for one in ids],
            with_payload=["chunk_id"],
            with_vectors=True,
            consistency=self._consistency,
        )

    def _scroll(self, offset: Any, client: QdrantClient) -> tuple[list[models.Record], Any]:
        return client.scroll(
            self._name,
            scroll_filter=models.Filter(must=[self._own]),
            limit=_READ_BATCH,
            offset=offset,
            with_payload=["chunk_id"],
            consistency=self._consistency,
        )

    def _count(self, client: QdrantClient) -> int:
        return client.count(self._name, count_filter=models.Filter(must=[self._own]), exact=True).count

    def _delete(self, selector: models.PointsSelector) -> None:
        self._connection.insist("delete vectors", lambda client: client.delete(self._name, selector, wait=True))

    def _upsert(self, points: list[models.PointStruct]) -> None:
        self._connection.insist("write vectors", lambda client: client.upsert(self._name, points, wait=True))

    def _vector(self, record: models.Record) -> NDArray[np.float32]:
        vector = np.array(record.vector, np.float32)
        if vector.shape != (self._dimensions,):
            url = self._connection.address.url
            raise VectorStoreError(
                f"the Qdrant server at {url} gave a vector of {vector.size} dimensions in place of {self._dimensions}",
                hint="dirindex doctor shows whether it is the right server and collection",
            )
        return vector

    def _point(self, point: VectorPoint) -> models.PointStruct:
        vector = np.frombuffer(point.vector, np.float32)
        if vector.size != self._dimensions:
            raise VectorStoreError(f"a vector has {vector.size} dimensions in place of {self._dimensions}")
        payload = {
            INDEX_FIELD: self._index_id,
            "chunk_id": uuid_text(point.chunk_id),
            "file_path": point.file_path,
            "parent_directories": list(point.parent_directories),
        }
        return models.PointStruct(id=self._point_id(point.chunk_id), vector=vector.tolist(), payload=payload)

    def _point_id(self, chunk_id: ChunkId) -> str:
        """Derive an id that no other index gives, though it may hold the same file at the same path."""
        return str(uuid.uuid5(uuid.UUID(self._index_id), uuid_text(chunk_id)))


def _chunk_id(point: models.Record | models.ScoredPoint) -> ChunkId:
    return chunk_id_of((point.payload or {})["chunk_id"])


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
