"""The vector store on a Qdrant server or cluster, which any number of indexes may share.

A merge changes the points in place: until the database names the new generation, it takes the new vectors from its own
tables, so that a failure anywhere loses nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from functools import partial

from qdrant_client import QdrantClient, models

from directory_indexer.errors import VectorsLostError
from directory_indexer.findings import Finding, Verdict
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorPlace, VectorPoint
from directory_indexer.vectorstore.collection import (
    CollectionPlan,
    ensure_collection,
    require_fitting,
    search_params,
)
from directory_indexer.vectorstore.points import IndexPoints
from directory_indexer.vectorstore.requests import CollectionRequests
from directory_indexer.vectorstore.server_vectors import ServerVectors, batches

with lazily:
    from directory_indexer.vectorstore.connection import Connection


_DELETE_BATCH = 1000
_WRITE_BYTES = 4_000_000
"""The size of one request; Qdrant takes 32 MB by default, proxies often less. A number takes some 12 bytes of JSON."""

_NUMBER_BYTES = 12


class QdrantServer:
    """The vectors of one index in a collection; threads may share it."""

    place = VectorPlace.SERVER

    merge_at = 1024
    """A few requests; waiting for each keeps a run from outpacing the server."""

    keep_pending = 1
    """A small request costs a server nothing, and other readers of the collection see the current state."""

    def __init__(self, connection: Connection, plan: CollectionPlan, *, index_id: str, dimensions: int) -> None:
        self._connection = connection
        self._plan = plan
        self._points = IndexPoints(index_id, dimensions=dimensions)
        self._requests = CollectionRequests(connection, plan)
        self._dimensions = dimensions
        self._write_batch = max(_WRITE_BYTES // (dimensions * _NUMBER_BYTES), 1)
        self._lock = threading.Lock()
        self._is_ready = False

    def prepare(self, generation: int) -> None:
        """Ensure that the server has a matching collection; only an index without vectors may create a new one."""
        with self._lock:
            if generation == 0 or not self._is_ready:
                self._connection.insist("prepare the collection", partial(self._prepare, generation))
                self._is_ready = True

    def at(self, generation: int) -> ServerVectors:
        """Return read access to a generation; a server only has the newest."""
        return ServerVectors(
            self._requests,
            self._points,
            search_params(self._plan),
            batch=self._write_batch,
            url=self._connection.address.url,
            is_empty=generation == 0,
        )

    def require_whole(self, generation: int, *, n_vectors: int) -> None:
        """Check that there are any vectors; their number depends on whether a merge was interrupted."""
        if generation and n_vectors and not self._requests.count_once(self._points.all()):
            raise VectorsLostError(f"the collection '{self._name}' holds no vectors of this index any more")

    def require_intact(self, generation: int) -> None:
        """Do nothing: a server has checksums of its own."""

    def merge(self, generation: int, *, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> int:
        """Delete and upsert in place, each batch acknowledged before the next is sent; return the next number."""
        self.prepare(generation)
        if generation == 0:
            self.clear()
        for ids in batches(deletes, _DELETE_BATCH):
            self._requests.delete(models.PointIdsList(points=self._points.ids_of(ids)))
        for points in batches(upserts, self._write_batch):
            self._requests.upsert([self._points.point_of(point) for point in points])
        return generation + 1

    def discard_others(self, generation: int) -> None:
        """Do nothing: a merge leaves nothing behind."""

    def clear(self) -> None:
        """Delete the vectors of this index; the collection stays, since others may share it."""
        self._requests.delete(models.FilterSelector(filter=self._points.all()))

    def health(self) -> Finding:
        """Return the version and response time of the server, and the state of the collection."""
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

    def _prepare(self, generation: int, client: QdrantClient) -> None:
        if generation and not client.collection_exists(self._name):
            raise VectorsLostError(
                f"the collection '{self._name}' is gone from the Qdrant server at {self._connection.address.url}",
                hint="dirindex index makes the vectors again from the stored texts",
            )
        ensure_collection(client, self._plan, dimensions=self._dimensions)
