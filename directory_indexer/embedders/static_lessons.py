"""Training of an index's own rows for the static table, from texts that the model has embedded.

Ridge regression in closed form: the rows fit the vectors that the model made of those texts, and stay near the shipped
table where the texts have little information. A hundred texts improve recall by a tenth, since an index has its own
vocabulary; docs/ranking.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from directory_indexer.embedders.static_table import (
    OwnRows,
    StaticModel,
    own_rows,
    packed_rows,
    rarity,
    shipped_rows,
)
from directory_indexer.embedders.token_bags import Bags, bags_of, counts
from directory_indexer.lazy import lazily

with lazily:
    from numpy.typing import NDArray

_STIFFNESS = 1.0
"""Strength of the regularisation towards the table; 0.3 and 3 change little."""

_AT_A_TIME = 2048
"""Tokens processed together, which bounds the memory."""


class Lessons(NamedTuple):
    """Training texts, and their vectors from the packaged model, of shape (texts, dimensions)."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]


def learned(texts: Sequence[str], lessons: Lessons | None = None) -> StaticModel:
    """Train on a sample of an index's texts: token weights, and rows from `lessons`."""
    weights = rarity(texts)
    own = _trained_rows(weights, lessons) if lessons is not None and lessons.texts else own_rows(b"")
    return StaticModel(weights, np.empty(0, np.float32), own).with_mean_of(texts)


def _trained_rows(weights: NDArray[np.float32], lessons: Lessons) -> OwnRows:
    bags = bags_of(lessons.texts)
    blocks = np.array_split(np.unique(bags.tokens), -(-np.unique(bags.tokens).size // _AT_A_TIME) or 1)
    lengths = _lengths(bags, blocks, weights)
    targets = lessons.vectors - lessons.vectors.mean(axis=0)
    sums = np.zeros_like(targets)
    kernel = _STIFFNESS * np.eye(len(lessons.texts), dtype=np.float32)
    for tokens, weighed in _weighed(bags, blocks, weights, lengths):
        kernel += weighed @ weighed.T
        sums += weighed @ shipped_rows(tokens)
    # The rows are trained on the scale of the table, so that the shipped rows need no rescaling.
    scale = float((sums * targets).sum() / max(float((sums * sums).sum()), _MIN_SQUARE))
    if scale <= 0:
        return own_rows(b"")
    missing = np.linalg.solve(kernel, targets / scale - sums)
    rows = [shipped_rows(tokens) + weighed.T @ missing for tokens, weighed in _weighed(bags, blocks, weights, lengths)]
    scales, halves = packed_rows(np.concatenate(rows).astype(np.float32))
    return OwnRows(np.concatenate(blocks).astype(np.uint16), scales, halves)


def _weighed(
    bags: Bags, blocks: Sequence[NDArray[np.int32]], weights: NDArray[np.float32], lengths: NDArray[np.float32]
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Yield, block by block, the tokens and their weights in each text, which has the length 1 in total."""
    for tokens in blocks:
        yield tokens, counts(bags, tokens) * weights[tokens] / lengths


def _lengths(bags: Bags, blocks: Sequence[NDArray[np.int32]], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    squares = np.zeros((bags.lengths.size, 1), np.float32)
    for tokens in blocks:
        squares += np.square(counts(bags, tokens) * weights[tokens]).sum(axis=1, keepdims=True)
    return np.sqrt(np.maximum(squares, _MIN_SQUARE))


_MIN_SQUARE = 1e-12
