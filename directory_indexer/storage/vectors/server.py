"""The vector store on a Qdrant server or cluster, which any number of indexes may share.

A merge changes the points in place: until the database names the new generation, it takes the new vectors from its own
tables, so that a failure anywhere loses nothing. Only the newest generation can be read; the empty one has no points.

The invariant it guards: an index touches only its own points. Its id is part of every point id, every payload and every
filter.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from qdrant_client import QdrantClient, models

from directory_indexer.core.batching import batched
from directory_indexer.core.errors import VectorsLostError, VectorStoreError
from directory_indexer.core.ids import ChunkId, chunk_id_of, uuid_text
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Finding, Verdict
from directory_indexer.storage.vectors import VectorHit, VectorPlace, VectorPoint, VectorScope
from directory_indexer.storage.vectors.connection import (
    EXACT_SEARCH,
    INDEX_FIELD,
    CollectionPlan,
    ensure_collection,
    read_consistency_of,
    require_compatible,
    scroll,
    search_params,
)

with lazily:
    from numpy.typing import NDArray

    from directory_indexer.storage.vectors.connection import QdrantConnection

_DELETE_BATCH = 1000
_MAX_WRITE_BYTES = 4_000_000
"""The size of one request; Qdrant takes 32 MB by default, proxies often less. A number takes some 12 bytes of JSON."""

_JSON_BYTES_PER_NUMBER = 12


class ServerVectorStore:
    """The vectors of one index in a collection; threads may share it."""

    place = VectorPlace.SERVER

    merge_at = 1024
    """A few requests; waiting for each keeps a run from outpacing the server."""

    min_pending_to_merge = 1
    """A small request costs a server nothing, and other readers of the collection see the current state."""

    def __init__(self, connection: QdrantConnection, plan: CollectionPlan, *, index_id: str, dimensions: int) -> None:
        self._connection = connection
        self._plan = plan
        self._points = IndexPoints(connection, plan, index_id=index_id, dimensions=dimensions)
        self._dimensions = dimensions
        self._lock = threading.Lock()
        self._is_ready = False

    def prepare(self, generation: int) -> None:
        """Ensure that the server has a matching collection; only an index without vectors may create a new one."""
        with self._lock:
            if generation == 0 or not self._is_ready:
                self._connection.send_with_retries("prepare the collection", partial(self._prepare, generation))
                self._is_ready = True

    def open_generation(self, generation: int) -> ServerVectors:
        """Return read access to a generation; a server only has the newest."""
        return ServerVectors(self._points, is_empty=generation == 0)

    def require_complete(self, generation: int, *, n_vectors: int) -> None:
        """Check that there are any vectors; their number depends on whether a merge was interrupted."""
        if generation and n_vectors and not self._connection.send_once("count vectors", self._points.count):
            raise VectorsLostError(f"the collection '{self._name}' holds nothing of this index any more")

    def require_intact(self, generation: int) -> None:
        """Do nothing: a server has checksums of its own."""

    def merge(self, generation: int, *, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> int:
        """Delete and upsert in place, each batch acknowledged before the next is sent; return the next number."""
        self.prepare(generation)
        if generation == 0:
            self.clear()
        for ids in batched(deletes, _DELETE_BATCH):
            self._points.delete(models.PointIdsList(points=self._points.ids_of(ids)))
        for points in batched(upserts, self._points.batch_size):
            self._points.upsert(points)
        return generation + 1

    def discard_others(self, generation: int) -> None:
        """Do nothing: a merge leaves nothing behind."""

    def clear(self) -> None:
        """Delete the vectors of this index; the collection stays, since others may share it."""
        self._points.delete(models.FilterSelector(filter=self._points.filter()))

    def health(self) -> Finding:
        """Return the version and response time of the server, and the state of the collection."""
        url = self._connection.address.url
        started = time.monotonic()
        version = self._connection.send_once("tell its version", lambda client: client.info().version)
        server = f"version {version} at {url} answers in {time.monotonic() - started:.2f} s"
        try:
            info = self._connection.send_once(
                "describe the collection", lambda client: client.get_collection(self._name)
            )
        except VectorsLostError:
            return Finding("Qdrant", Verdict.OK, f"{server}; it has no collection '{self._name}' yet")
        require_compatible(info, self._name, dimensions=self._dimensions)
        message = f"{server}; the collection '{self._name}' is {info.status.value}"
        if info.status is models.CollectionStatus.GREEN:
            return Finding("Qdrant", Verdict.OK, message)
        hint = "yellow: it is being optimised, grey: it will be; red: read the log of the server"
        is_broken = info.status is models.CollectionStatus.RED
        return Finding("Qdrant", Verdict.PROBLEM if is_broken else Verdict.WARNING, message, hint)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    @property
    def _name(self) -> str:
        return self._plan.name

    def _prepare(self, generation: int, client: QdrantClient) -> None:
        if generation and not client.collection_exists(self._name):
            raise VectorsLostError(
                f"the collection '{self._name}' is gone from the Qdrant server at {self._connection.address.url}",
                hint="dirindex index restores search by meaning from the stored texts",
            )
        ensure_collection(client, self._plan, dimensions=self._dimensions)


class ServerVectors:
    """The vectors of one index in a collection; threads may share it."""

    def __init__(self, points: IndexPoints, *, is_empty: bool) -> None:
        self._points = points
        self._is_empty = is_empty

    def search(self, vector: NDArray[np.float32], *, scope: VectorScope, limit: int) -> list[VectorHit]:
        """Return the chunks in the scope that are most similar to a vector, best first."""
        return [] if self._is_empty else self._points.nearest(vector, self._points.filter(scope), limit)

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        """Return the cosine similarities of a vector to those of some chunks, for chunks that have one."""
        if self._is_empty:
            return {}
        return dict(self._points.nearest(vector, self._points.filter(among=ids), len(ids), params=EXACT_SEARCH))

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Return the vectors of those chunks that have one."""
        vectors: dict[ChunkId, NDArray[np.float32]] = {}
        for batch in batched(() if self._is_empty else ids, self._points.batch_size):
            vectors |= self._points.vectors(batch)
        return vectors

    def ids(self) -> Iterator[ChunkId]:
        """Yield the ids of all chunks that have a vector."""
        if not self._is_empty:
            yield from self._points.chunk_ids()

    def count(self) -> int:
        """Count the vectors."""
        return 0 if self._is_empty else self._points.send_with_retries("count vectors", self._points.count)


_UNLIMITED_SCOPE = VectorScope()


class IndexPoints:
    """The points of one index in a collection. Searches are sent once, since users wait; other requests are retried.

    Raises:
        VectorStoreError: from every request, when the server cannot be reached, refuses, or its response is invalid.
    """

    def __init__(self, connection: QdrantConnection, plan: CollectionPlan, *, index_id: str, dimensions: int) -> None:
        self.batch_size = max(_MAX_WRITE_BYTES // (dimensions * _JSON_BYTES_PER_NUMBER), 1)
        self.send_with_retries = connection.send_with_retries
        self._connection = connection
        self._plan = plan
        self._index_id = index_id
        self._dimensions = dimensions

    def nearest(
        self,
        vector: NDArray[np.float32],
        condition: models.Filter,
        limit: int,
        *,
        params: models.SearchParams | None = None,
    ) -> list[VectorHit]:
        """Return the chunks of the nearest points among those that satisfy a condition."""
        response = self._connection.send_once(
            "search",
            lambda client: client.query_points(
                self._plan.name,
                query=vector.tolist(),
                query_filter=condition,
                search_params=params or search_params(self._plan),
                limit=limit,
                with_payload=["chunk_id"],
                consistency=read_consistency_of(self._plan),
            ),
        )
        return [VectorHit(chunk_id_in(point), point.score) for point in response.points]

    def vectors(self, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Return the vectors of those chunks that have one."""
        records = self.send_with_retries(
            "read vectors",
            lambda client: client.retrieve(
                self._plan.name,
                self.ids_of(chunk_ids),
                with_payload=["chunk_id"],
                with_vectors=True,
                consistency=read_consistency_of(self._plan),
            ),
        )
        return {chunk_id_in(record): self._vector_of(record) for record in records}

    def chunk_ids(self) -> Iterator[ChunkId]:
        """Yield the chunks of all points, page by page."""
        send = partial(self.send_with_retries, "list vectors")
        records = scroll(send, self._plan, self._plan.name, self.filter(), fields=["chunk_id"])
        return map(chunk_id_in, records)

    def count(self, client: QdrantClient) -> int:
        """Count the points."""
        return client.count(self._plan.name, count_filter=self.filter(), exact=True).count

    def delete(self, selector: models.PointsSelector) -> None:
        """Delete points, and wait until it is done."""
        self.send_with_retries("delete vectors", lambda client: client.delete(self._plan.name, selector, wait=True))

    def upsert(self, points: Sequence[VectorPoint]) -> None:
        """Write points, and wait until it is done."""
        structs = list(map(self.point_of, points))
        self.send_with_retries("write vectors", lambda client: client.upsert(self._plan.name, structs, wait=True))

    def point_of(self, point: VectorPoint) -> models.PointStruct:
        """Return the server's point of a vector.

        Raises:
            VectorStoreError: the vector has another size than those of the collection.
        """
        vector = np.frombuffer(point.vector, np.float32)
        if vector.size != self._dimensions:
            raise VectorStoreError(f"a vector has {vector.size} dimensions in place of {self._dimensions}")
        payload = {
            INDEX_FIELD: self._index_id,
            "chunk_id": uuid_text(point.chunk_id),
            "file_path": point.file_path,
            "parent_directories": list(point.parent_directories),
        }
        return models.PointStruct(id=self._id_of(point.chunk_id), vector=vector.tolist(), payload=payload)

    def ids_of(self, chunk_ids: Iterable[ChunkId]) -> list[models.ExtendedPointId]:
        """Return the ids of the points of some chunks."""
        return [self._id_of(chunk_id) for chunk_id in chunk_ids]

    def filter(self, scope: VectorScope = _UNLIMITED_SCOPE, *, among: Iterable[ChunkId] | None = None) -> models.Filter:
        """Return the filter for every point of the index, or for those in a scope, or of some chunks."""
        own: list[models.Condition] = [
            models.FieldCondition(key=INDEX_FIELD, match=models.MatchValue(value=self._index_id))
        ]
        if among is not None:
            own.append(models.HasIdCondition(has_id=self.ids_of(among)))
        fields = (("parent_directories", scope.directories), ("file_path", scope.files))
        places: list[models.Condition] = [
            models.FieldCondition(key=field, match=models.MatchAny(any=[str(path) for path in paths]))
            for field, paths in fields
            if paths
        ]
        return models.Filter(must=own, should=places or None)

    def _vector_of(self, record: models.Record) -> NDArray[np.float32]:
        vector = np.array(record.vector, np.float32)
        if vector.shape != (self._dimensions,):
            url = self._connection.address.url
            raise VectorStoreError(
                f"the Qdrant server at {url} gave a vector of {vector.size} dimensions in place of {self._dimensions}",
                hint="dirindex doctor shows whether it is the right server and collection",
            )
        return vector

    def _id_of(self, chunk_id: ChunkId) -> str:
        """Derive an id that is unique to this index, even for the same file at the same path."""
        return str(uuid.uuid5(uuid.UUID(self._index_id), uuid_text(chunk_id)))


def chunk_id_in(point: models.Record | models.ScoredPoint) -> ChunkId:
    """Return the chunk of a point."""
    return chunk_id_of((point.payload or {})["chunk_id"])
