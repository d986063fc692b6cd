"""The neighbours of a document as a map: how far they are from it in meaning, and which of them are alike.

The distance from the middle is that of the vectors; the direction comes from their two principal components, so that
passages of one kind are on one side. Nothing is stored: the map is drawn from the vectors of the index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from directory_indexer.chunker.chunks import embedding_text
from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.store import DocStore, Snapshot
from directory_indexer.embedders import Embedder
from directory_indexer.embedding_space import EmbeddingSpace
from directory_indexer.errors import NotIndexedError
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display
from directory_indexer.relevance.query import parse_query
from directory_indexer.searching.answers import SearchRequest
from directory_indexer.searching.clusters import clustered, topics
from directory_indexer.searching.copies import all_placed
from directory_indexer.searching.readiness import require_comparable, require_indexed
from directory_indexer.searching.scope import resolve_scope
from directory_indexer.searching.similar import spread_evenly

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.searching.nearest import Nearest
    from directory_indexer.searching.scope import Scope

_NEAREST = 60
"""How many are looked for around each passage of the document."""

_LABEL_CHARS = 1500


class Neighbour(NamedTuple):
    """A passage near the document; `x` and `y` are where it is drawn, -1 to 1 with the document in the middle."""

    stored: IndexedChunk
    nearness: float
    x: float
    y: float
    topic: int


class Neighbourhood(NamedTuple):
    """The neighbours of a document, nearest first, and the names of their topics."""

    path: FilePath
    n_passages: int
    neighbours: tuple[Neighbour, ...] = ()
    topics: tuple[str, ...] = ()


class Neighbourhoods:
    """Draws maps of the neighbours of documents."""

    def __init__(
        self, *, docstore: DocStore, nearest: Nearest, embedder: Callable[[EmbeddingSpace | None], Embedder]
    ) -> None:
        self._docstore = docstore
        self._nearest = nearest
        self._embedder = embedder

    def around(self, path: FilePath, *, limit: int) -> Neighbourhood:
        """Map the passages of other files that are nearest to those of an indexed one.

        Raises:
            NotIndexedError: the file is not indexed, or has no text.
            IndexMismatchError: the vectors of the index come from another model.
        """
        return self._docstore.read(lambda snapshot: self._around(snapshot, path, limit))

    def _around(self, snapshot: Snapshot, path: FilePath, limit: int) -> Neighbourhood:
        require_indexed(snapshot, ())
        own = snapshot.chunks.of_file(path)
        if not own:
            raise NotIndexedError(f"{display(path)} is not indexed, or has no text")
        middle = self._vectors_of(snapshot, path, own)
        scope = resolve_scope(snapshot, SearchRequest(query=""), parse_query(""))
        nearness = self._nearness(snapshot, middle, scope, n_own=len(own))
        everywhere = all_placed(snapshot, snapshot.chunks.by_id(nearness), scope).values()
        others = [one for files in everywhere for one in files if one.path != path]
        wanted = sorted(others, key=lambda one: (-nearness[one.chunk_id], one.chunk_id, one.path))[:limit]
        vectors = self._nearest.vectors(snapshot, list({one.chunk_id for one in wanted}))
        found = [one for one in wanted if one.chunk_id in vectors]
        if not found:
            return Neighbourhood(path, len(own))
        return _mapped(
            Neighbourhood(path, len(own)),
            found,
            np.array([nearness[one.chunk_id] for one in found]),
            np.array([vectors[one.chunk_id] for one in found]) - middle.mean(axis=0),
        )

    def _vectors_of(self, snapshot: Snapshot, path: FilePath, own: Sequence[IndexedChunk]) -> NDArray[np.float32]:
        """Give vectors of the document: those of the index, or new ones while it has none."""
        known = self._nearest.vectors(snapshot, [one.chunk_id for one in own])
        if known:
            return np.array(spread_evenly([known[one.chunk_id] for one in own if one.chunk_id in known]))
        texts = [embedding_text(one.chunk, path) for one in spread_evenly(own)]
        made = self._embedder(snapshot.vector_sets.answering().space).embed_documents(texts)
        require_comparable(snapshot, made.shape[1])
        return made

    def _nearness(
        self, snapshot: Snapshot, own: NDArray[np.float32], scope: Scope, *, n_own: int
    ) -> dict[ChunkId, float]:
        nearness: dict[ChunkId, float] = {}
        for vector in own:
            for hit in self._nearest.chunks(snapshot, vector, scope=scope, limit=_NEAREST + n_own):
                nearness[hit.chunk_id] = max(hit.score, nearness.get(hit.chunk_id, -1.0))
        return nearness


def _mapped(
    around: Neighbourhood, stored: Sequence[IndexedChunk], nearness: NDArray[np.float64], apart: NDArray[np.float32]
) -> Neighbourhood:
    """Lay passages out, given how near each is and its vector relative to the document."""
    clusters = clustered(apart)
    xs, ys = laid_out(apart, nearness)
    neighbours = tuple(
        Neighbour(one, float(near), float(x), float(y), int(topic))
        for one, near, x, y, topic in zip(stored, nearness, xs, ys, clusters, strict=True)
    )
    texts = [one.chunk.text[:_LABEL_CHARS] for one in stored]
    return around._replace(neighbours=neighbours, topics=topics(texts, clusters))


def laid_out(apart: NDArray[np.float32], nearness: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Place passages around the middle: direction by the principal components, distance by nearness."""
    centred = apart - apart.mean(axis=0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    plane = np.zeros((len(apart), 2))
    plane[:, : min(2, len(components))] = centred @ components[:2].T
    angles = np.arctan2(plane[:, 1], plane[:, 0])
    distances = 1 - nearness
    low, high = distances.min(), distances.max()
    radii = 0.25 + 0.75 * (distances - low) / (high - low if high > low else 1)
    return radii * np.cos(angles), radii * np.sin(angles)
