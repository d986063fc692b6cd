"""Read access to the vectors on a Qdrant server, which only has the newest generation; the empty one has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from qdrant_client import models

from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorHit, VectorScope
from directory_indexer.vectorstore.collection import EXACTLY
from directory_indexer.vectorstore.points import IndexPoints, chunk_id_in
from directory_indexer.vectorstore.requests import CollectionRequests

with lazily:
    import numpy as np
    from numpy.typing import NDArray


class ServerVectors:
    """The vectors of one index in a collection, at the server with this URL; threads may share it."""

    def __init__(
        self,
        requests: CollectionRequests,
        points: IndexPoints,
        params: models.SearchParams,
        *,
        batch: int,
        url: str,
        is_empty: bool,
    ) -> None:
        self._requests = requests
        self._points = points
        self._params = params
        self._batch = batch
        self._url = url
        self._is_empty = is_empty

    def search(self, vector: NDArray[np.float32], *, scope: VectorScope, limit: int) -> list[VectorHit]:
        """Return the chunks in the scope that are most similar to a vector, best first."""
        if self._is_empty:
            return []
        return self._requests.query(vector, self._points.within(scope), self._params, limit)

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        """Return the cosine similarities of a vector to those of some chunks, for chunks that have one."""
        if self._is_empty:
            return {}
        return dict(self._requests.query(vector, self._points.among(ids), EXACTLY, len(ids)))

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Return the vectors of those chunks that have one."""
        vectors: dict[ChunkId, NDArray[np.float32]] = {}
        for batch in batches(() if self._is_empty else ids, self._batch):
            records = self._requests.read(self._points.ids_of(batch))
            vectors |= {chunk_id_in(record): self._points.vector_of(record, url=self._url) for record in records}
        return vectors

    def ids(self) -> Iterator[ChunkId]:
        """Yield the ids of all chunks that have a vector."""
        if not self._is_empty:
            yield from map(chunk_id_in, self._requests.all(self._points.all()))

    def count(self) -> int:
        """Count the vectors."""
        return 0 if self._is_empty else self._requests.count(self._points.all())


def batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of at most `size` items, one for each request."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
