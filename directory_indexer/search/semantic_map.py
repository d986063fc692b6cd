"""Two-dimensional map of the passages nearest in meaning to a document, grouped into clusters.

The distance from the centre is that of the vectors; the direction comes from their two principal components, so that
similar passages are on the same side. Clusters are deterministic, and named by the words that distinguish them. Nothing
is stored: the map is computed from the vectors of the index.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import log
from typing import NamedTuple

import numpy as np

from directory_indexer.chunking.chunks import embedding_text
from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display
from directory_indexer.embedding import Embedder
from directory_indexer.ranking.languages import is_function_word, language_of
from directory_indexer.ranking.query import parse_query
from directory_indexer.search.coverage_warnings import require_indexed, require_same_dimensions
from directory_indexer.search.hits import copies_in_scope
from directory_indexer.search.requests import SearchRequest
from directory_indexer.search.scope import resolve_scope
from directory_indexer.search.similar import sample_evenly
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.store import DocStore, Snapshot

with lazily:
    from numpy.typing import NDArray

    from directory_indexer.search.scope import Scope
    from directory_indexer.search.vector_search import VectorSearch


_NEIGHBOURS_PER_PASSAGE = 60
"""The number of neighbours of each passage of the document."""

_LABEL_CHARS = 1500


class Neighbour(NamedTuple):
    """A passage near the document; `x` and `y` are its position, -1 to 1 with the document in the centre."""

    stored: IndexedChunk
    nearness: float
    x: float
    y: float
    topic: int


class SemanticMap(NamedTuple):
    """The neighbours of a document, nearest first, and the names of their topics."""

    path: FilePath
    n_passages: int
    neighbours: tuple[Neighbour, ...] = ()
    topics: tuple[str, ...] = ()


class SemanticMaps:
    """Computes the maps of the neighbours of documents."""

    def __init__(
        self, *, docstore: DocStore, nearest: VectorSearch, embedder: Callable[[EmbeddingSpace | None], Embedder]
    ) -> None:
        self._docstore = docstore
        self._nearest = nearest
        self._embedder = embedder

    def map_of(self, path: FilePath, *, limit: int) -> SemanticMap:
        """Return the passages of other files that are nearest to those of an indexed one, as a map.

        Raises:
            NotIndexedError: the file is not indexed, or has no text.
            IndexMismatchError: the vectors of the index come from another model.
        """
        return self._docstore.read(lambda snapshot: self._around(snapshot, path, limit))

    def _around(self, snapshot: Snapshot, path: FilePath, limit: int) -> SemanticMap:
        require_indexed(snapshot, ())
        own = snapshot.chunks.of_file(path)
        if not own:
            raise NotIndexedError(f"{display(path)} is not indexed, or has no text")
        middle = self._vectors_of(snapshot, path, own)
        scope = resolve_scope(snapshot, SearchRequest(query=""), parse_query(""))
        nearness = self._nearness(snapshot, middle, scope, n_own=len(own))
        everywhere = copies_in_scope(snapshot, snapshot.chunks.by_id(nearness), scope).values()
        others = [stored for files in everywhere for stored in files if stored.path != path]
        nearest = sorted(others, key=lambda stored: (-nearness[stored.chunk_id], stored.chunk_id, stored.path))[:limit]
        vectors = self._nearest.vectors(snapshot, list({stored.chunk_id for stored in nearest}))
        embedded = [stored for stored in nearest if stored.chunk_id in vectors]
        if not embedded:
            return SemanticMap(path, len(own))
        return _lay_out_neighbours(
            SemanticMap(path, len(own)),
            embedded,
            np.array([nearness[stored.chunk_id] for stored in embedded]),
            np.array([vectors[stored.chunk_id] for stored in embedded]) - middle.mean(axis=0),
        )

    def _vectors_of(self, snapshot: Snapshot, path: FilePath, own: Sequence[IndexedChunk]) -> NDArray[np.float32]:
        """Return vectors of the document: those of the index, or new ones if it has none yet."""
        known = self._nearest.vectors(snapshot, [stored.chunk_id for stored in own])
        if known:
            return np.array(sample_evenly([known[stored.chunk_id] for stored in own if stored.chunk_id in known]))
        texts = [embedding_text(stored.chunk, path) for stored in sample_evenly(own)]
        vectors = self._embedder(snapshot.vector_sets.answering().space).embed_documents(texts)
        require_same_dimensions(snapshot, vectors.shape[1])
        return vectors

    def _nearness(
        self, snapshot: Snapshot, own: NDArray[np.float32], scope: Scope, *, n_own: int
    ) -> dict[ChunkId, float]:
        nearness: dict[ChunkId, float] = {}
        for vector in own:
            for hit in self._nearest.nearest_chunks(
                snapshot, vector, scope=scope, limit=_NEIGHBOURS_PER_PASSAGE + n_own
            ):
                nearness[hit.chunk_id] = max(hit.score, nearness.get(hit.chunk_id, -1.0))
        return nearness


def _lay_out_neighbours(
    neighbourhood: SemanticMap,
    chunks: Sequence[IndexedChunk],
    nearness: NDArray[np.float64],
    offsets: NDArray[np.float32],
) -> SemanticMap:
    """Lay passages out, by their nearness and their vectors relative to the document."""
    clusters = assign_clusters(offsets)
    xs, ys = project_to_plane(offsets, nearness)
    neighbours = tuple(
        Neighbour(chunk, float(near), float(x), float(y), int(topic))
        for chunk, near, x, y, topic in zip(chunks, nearness, xs, ys, clusters, strict=True)
    )
    texts = [chunk.chunk.text[:_LABEL_CHARS] for chunk in chunks]
    return neighbourhood._replace(neighbours=neighbours, topics=label_clusters(texts, clusters))


def project_to_plane(offsets: NDArray[np.float32], nearness: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return positions around the centre: direction by principal components, distance by nearness."""
    centred = offsets - offsets.mean(axis=0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    plane = np.zeros((len(offsets), 2))
    plane[:, : min(2, len(components))] = centred @ components[:2].T
    angles = np.arctan2(plane[:, 1], plane[:, 0])
    distances = 1 - nearness
    low, high = distances.min(), distances.max()
    radii = 0.25 + 0.75 * (distances - low) / (high - low if high > low else 1)
    return radii * np.cos(angles), radii * np.sin(angles)


_MAX_CLUSTERS = 6
_VECTORS_A_CLUSTER = 8
_MAX_ROUNDS = 12
_WORDS_OF_A_TOPIC = 3
_WORD = re.compile(r"[^\W\d_]{4,24}")


def assign_clusters(vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the cluster of each vector, numbered from the largest; few vectors form few clusters."""
    n_clusters = max(1, min(_MAX_CLUSTERS, len(vectors) // _VECTORS_A_CLUSTER))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.maximum(norms, 1e-9)
    centres = _initial_centres(units, n_clusters)
    groups = np.zeros(len(units), np.int64)
    for _ in range(_MAX_ROUNDS):
        groups = np.argmax(units @ centres.T, axis=1)
        centres = np.array(
            [
                units[groups == group].mean(axis=0) if (groups == group).any() else centres[group]
                for group in range(n_clusters)
            ]
        )
    order = np.argsort(-np.bincount(groups, minlength=n_clusters), kind="stable")
    return np.argsort(order)[groups]


def label_clusters(passage_texts: Sequence[str], clusters: Sequence[int] | NDArray[np.int64]) -> tuple[str, ...]:
    """Name each cluster by words that its texts have and those of other clusters lack; "" if there are none."""
    n_clusters = int(max(clusters)) + 1
    counts_by_cluster = [Counter[str]() for _ in range(n_clusters)]
    for text, cluster in zip(passage_texts, clusters, strict=True):
        counts_by_cluster[cluster].update(_distinctive_words(text))
    everywhere = sum(counts_by_cluster, Counter[str]())
    sizes = Counter(map(int, clusters))
    names = []
    for cluster, counts in enumerate(counts_by_cluster):
        share = sizes[cluster] / len(passage_texts)
        weights = {word: n * log(n / (everywhere[word] * share)) for word, n in counts.items()}
        best = sorted((word for word in weights if weights[word] > 0), key=lambda word: (-weights[word], word))
        names.append(", ".join(best[:_WORDS_OF_A_TOPIC]))
    return tuple(names)


def _distinctive_words(text: str) -> set[str]:
    words = _WORD.findall(text.lower())
    language = language_of(text, words)
    return {word for word in words if not is_function_word(word, language)}


def _initial_centres(units: NDArray[np.float32], number: int) -> NDArray[np.float32]:
    """Select initial centres: the first vector, then each time the one farthest from those selected."""
    chosen = [0]
    nearest = units @ units[0]
    while len(chosen) < number:
        chosen.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, units @ units[chosen[-1]])
    return units[chosen].copy()
