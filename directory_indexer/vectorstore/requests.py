"""Requests to a collection on a Qdrant server, one method each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qdrant_client import QdrantClient, models

from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorHit
from directory_indexer.vectorstore.collection import CollectionPlan, consistency_of
from directory_indexer.vectorstore.points import chunk_id_in

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.vectorstore.connection import Connection

_PAGE = 1000


class CollectionRequests:
    """Requests to one collection. Searches are sent once, since users wait; all others are retried.

    Raises:
        VectorStoreError: from every method, when the server cannot be reached, refuses, or its response is invalid.
    """

    def __init__(self, connection: Connection, plan: CollectionPlan) -> None:
        self._connection = connection
        self._plan = plan

    def query(
        self, vector: NDArray[np.float32], condition: models.Filter, params: models.SearchParams, limit: int
    ) -> list[VectorHit]:
        """Return the nearest points among those that satisfy a condition."""
        response = self._connection.ask(
            "search",
            lambda client: client.query_points(
                self._plan.name,
                query=vector.tolist(),
                query_filter=condition,
                search_params=params,
                limit=limit,
                with_payload=["chunk_id"],
                consistency=consistency_of(self._plan),
            ),
        )
        return [VectorHit(chunk_id_in(point), point.score) for point in response.points]

    def read(self, ids: list[models.ExtendedPointId]) -> list[models.Record]:
        """Return the points with these ids, with their vectors."""
        return self._connection.insist(
            "read vectors",
            lambda client: client.retrieve(
                self._plan.name,
                ids,
                with_payload=["chunk_id"],
                with_vectors=True,
                consistency=consistency_of(self._plan),
            ),
        )

    def all(self, condition: models.Filter) -> Iterator[models.Record]:
        """Yield the points that satisfy a condition, page by page, without their vectors."""
        offset: Any = None
        while True:
            records, offset = self._page(condition, offset)
            yield from records
            if offset is None:
                return

    def _page(self, condition: models.Filter, offset: Any) -> tuple[list[models.Record], Any]:
        return self._connection.insist(
            "list vectors",
            lambda client: client.scroll(
                self._plan.name,
                scroll_filter=condition,
                limit=_PAGE,
                offset=offset,
                with_payload=["chunk_id"],
                consistency=consistency_of(self._plan),
            ),
        )

    def count(self, condition: models.Filter) -> int:
        """Count the points that satisfy a condition."""
        return self._connection.insist("count vectors", lambda client: self._count(client, condition))

    def count_once(self, condition: models.Filter) -> int:
        """Count the points that satisfy a condition, without retries, for a waiting user."""
        return self._connection.ask("count vectors", lambda client: self._count(client, condition))

    def _count(self, client: QdrantClient, condition: models.Filter) -> int:
        return client.count(self._plan.name, count_filter=condition, exact=True).count

    def delete(self, selector: models.PointsSelector) -> None:
        """Delete points, and wait until it is done."""
        self._connection.insist("delete vectors", lambda client: client.delete(self._plan.name, selector, wait=True))

    def upsert(self, points: list[models.PointStruct]) -> None:
        """Write points, and wait until it is done."""
        self._connection.insist("write vectors", lambda client: client.upsert(self._plan.name, points, wait=True))
