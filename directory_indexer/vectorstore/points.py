"""The points of one index in a collection that others may share: ids, payloads and filters.

The invariant it guards: an index touches only its own points. Its id is part of every point id, every payload and every
filter.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import numpy as np
from qdrant_client import models

from directory_indexer.errors import VectorStoreError
from directory_indexer.ids import ChunkId, chunk_id_of, uuid_text
from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorPoint, VectorScope
from directory_indexer.vectorstore.collection import INDEX_FIELD

with lazily:
    from numpy.typing import NDArray


class IndexPoints:
    """The points of the chunks of one index on a server."""

    def __init__(self, index_id: str, *, dimensions: int) -> None:
        self._index_id = index_id
        self._dimensions = dimensions

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

    def vector_of(self, record: models.Record, *, url: str) -> NDArray[np.float32]:
        """Return the vector of a point as the server at `url` returned it.

        Raises:
            VectorStoreError: it has another size than those of the collection.
        """
        vector = np.array(record.vector, np.float32)
        if vector.shape != (self._dimensions,):
            raise VectorStoreError(
                f"the Qdrant server at {url} gave a vector of {vector.size} dimensions in place of {self._dimensions}",
                hint="dirindex doctor shows whether it is the right server and collection",
            )
        return vector

    def ids_of(self, chunk_ids: Iterable[ChunkId]) -> list[models.ExtendedPointId]:
        """Return the ids of the points of some chunks."""
        return [self._id_of(chunk_id) for chunk_id in chunk_ids]

    def all(self) -> models.Filter:
        """Return the filter for every point of the index."""
        return models.Filter(must=[self._own])

    def within(self, scope: VectorScope) -> models.Filter:
        """Return the filter for the points in a scope."""
        fields = (("parent_directories", scope.directories), ("file_path", scope.files))
        places: list[models.Condition] = [
            models.FieldCondition(key=field, match=models.MatchAny(any=[str(path) for path in paths]))
            for field, paths in fields
            if paths
        ]
        return models.Filter(must=[self._own], should=places or None)

    def among(self, chunk_ids: Iterable[ChunkId]) -> models.Filter:
        """Return the filter for the points of some chunks."""
        return models.Filter(must=[self._own, models.HasIdCondition(has_id=self.ids_of(chunk_ids))])

    @property
    def _own(self) -> models.FieldCondition:
        return models.FieldCondition(key=INDEX_FIELD, match=models.MatchValue(value=self._index_id))

    def _id_of(self, chunk_id: ChunkId) -> str:
        """Derive an id that is unique to this index, even for the same file at the same path."""
        return str(uuid.uuid5(uuid.UUID(self._index_id), uuid_text(chunk_id)))


def chunk_id_in(point: models.Record | models.ScoredPoint) -> ChunkId:
    """Return the chunk of a point."""
    return chunk_id_of((point.payload or {})["chunk_id"])
