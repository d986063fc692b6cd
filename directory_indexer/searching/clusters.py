"""Clusters of similar vectors, and the words that distinguish each cluster; pure and deterministic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np

from directory_indexer.lazy import lazily
from directory_indexer.relevance.languages import is_filler, language_of

with lazily:
    from numpy.typing import NDArray

_MAX_CLUSTERS = 6
_VECTORS_A_CLUSTER = 8
_ROUNDS = 12
_WORDS_OF_A_TOPIC = 3
_WORD = re.compile(r"[^\W\d_]{4,24}")


def assign_clusters(vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the cluster of each vector, numbered from the largest; few vectors form few clusters."""
    n_clusters = max(1, min(_MAX_CLUSTERS, len(vectors) // _VECTORS_A_CLUSTER))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.maximum(norms, 1e-9)
    centres = _far_apart(units, n_clusters)
    groups = np.zeros(len(units), np.int64)
    for _ in range(_ROUNDS):
        groups = np.argmax(units @ centres.T, axis=1)
        centres = np.array(
            [
                units[groups == group].mean(axis=0) if (groups == group).any() else centres[group]
                for group in range(n_clusters)
            ]
        )
    order = np.argsort(-np.bincount(groups, minlength=n_clusters), kind="stable")
    return np.argsort(order)[groups]


def topics(texts: Sequence[str], clusters: Sequence[int] | NDArray[np.int64]) -> tuple[str, ...]:
    """Name each cluster by words that its texts have and those of other clusters lack; "" if there are none."""
    n_clusters = int(max(clusters)) + 1
    counts_by_cluster = [Counter[str]() for _ in range(n_clusters)]
    for text, cluster in zip(texts, clusters, strict=True):
        counts_by_cluster[cluster].update(_telling_words(text))
    everywhere = sum(counts_by_cluster, Counter[str]())
    sizes = Counter(map(int, clusters))
    names = []
    for cluster, counts in enumerate(counts_by_cluster):
        share = sizes[cluster] / len(texts)
        weights = {word: n * log(n / (everywhere[word] * share)) for word, n in counts.items()}
        best = sorted((word for word in weights if weights[word] > 0), key=lambda word: (-weights[word], word))
        names.append(", ".join(best[:_WORDS_OF_A_TOPIC]))
    return tuple(names)


def _telling_words(text: str) -> set[str]:
    words = _WORD.findall(text.lower())
    language = language_of(text, words)
    return {word for word in words if not is_filler(word, language)}


def _far_apart(units: NDArray[np.float32], number: int) -> NDArray[np.float32]:
    """Select initial centres: the first vector, then each time the one farthest from those selected."""
    chosen = [0]
    nearest = units @ units[0]
    while len(chosen) < number:
        chosen.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, units @ units[chosen[-1]])
    return units[chosen].copy()
