"""What an index teaches its static vectors: from texts that the model has embedded, rows of tokens are learned.

Ridge regression in closed form: the rows come as near as they can to adding up to the vectors that the model made of
those texts, and stay near to the shipped table where the texts say little. A hundred texts are enough to find a tenth
more of what answers, since an index has a language of its own; docs/ranking.md has what was measured.
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
"""How strongly rows hold on to the table; 0.3 and 3 change little."""

_AT_A_TIME = 2048
"""So many tokens are looked at together, which bounds the memory."""


class Lessons(NamedTuple):
    """Texts, and the vectors that the model of the package made of them, of shape (texts, dimensions)."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]


def learned(texts: Sequence[str], lessons: Lessons | None = None) -> StaticModel:
    """Learn from a sample of the texts of an index what is rare and usual there, and rows from `lessons`."""
    weights = rarity(texts)
    own = _taught(weights, lessons) if lessons is not None and lessons.texts else own_rows(b"")
    return StaticModel(weights, np.empty(0, np.float32), own).with_mean_of(texts)


def _taught(weights: NDArray[np.float32], lessons: Lessons) -> OwnRows:
    bags = bags_of(lessons.texts)
    blocks = np.array_split(np.unique(bags.tokens), -(-np.unique(bags.tokens).size // _AT_A_TIME) or 1)
    lengths = _lengths(bags, blocks, weights)
    wanted = lessons.vectors - lessons.vectors.mean(axis=0)
    made = np.zeros_like(wanted)
    kernel = _STIFFNESS * np.eye(len(lessons.texts), dtype=np.float32)
    for tokens, weighed in _weighed(bags, blocks, weights, lengths):
        kernel += weighed @ weighed.T
        made += weighed @ shipped_rows(tokens)
    # The rows are learned on the scale of the table, so that the others need no other one.
    scale = float((made * wanted).sum() / max(float((made * made).sum()), _TINY))
    if scale <= 0:
        return own_rows(b"")
    missing = np.linalg.solve(kernel, wanted / scale - made)
    rows = [shipped_rows(tokens) + weighed.T @ missing for tokens, weighed in _weighed(bags, blocks, weights, lengths)]
    scales, halves = packed_rows(np.concatenate(rows).astype(np.float32))
    return OwnRows(np.concatenate(blocks).astype(np.uint16), scales, halves)


def _weighed(
    bags: Bags, blocks: Sequence[NDArray[np.int32]], weights: NDArray[np.float32], lengths: NDArray[np.float32]
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Return, block by block, the tokens and what each of them weighs in each text, which has the length 1 in all."""
    for tokens in blocks:
        yield tokens, counts(bags, tokens) * weights[tokens] / lengths


def _lengths(bags: Bags, blocks: Sequence[NDArray[np.int32]], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    squares = np.zeros((bags.lengths.size, 1), np.float32)
    for tokens in blocks:
        squares += np.square(counts(bags, tokens) * weights[tokens]).sum(axis=1, keepdims=True)
    return np.sqrt(np.maximum(squares, _TINY))


_TINY = 1e-12
