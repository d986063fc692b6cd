"""Static vectors: what a text is roughly about, from a table of tokens instead of the model.

A hundred times cheaper than the model's vectors, and good enough to find candidates among chunks that have none yet.
The table holds the model's own vector of each token by itself, without the mean and the first principal component of
all of them; a text is the sum over its tokens, the rare ones weighing more (Arora, Liang and Ma 2017; model2vec makes
such tables of any model). What is stored of a text is the sign of each of its dimensions. `scripts/build_static_table`
builds the table; docs/ranking.md has what was measured.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from directory_indexer.embedders.model_files import DIMENSIONS, verified_file
from directory_indexer.embedders.wordpiece import N_TOKENS, pieces_of_ascii_word, pieces_of_text, words_of_ascii
from directory_indexer.lazy import lazily

with lazily:
    from numpy.typing import NDArray


CODE_BYTES: Final = DIMENSIONS // 8
"""What is stored of a text: a bit for each dimension."""

_TABLE = "static.bin"
_SPECIAL_TOKENS = 998
"""So many tokens at the start of the vocabulary stand for nothing that is written."""

_NEAR = 10
"""So many times as many as are wanted are taken by their bits before the query's own values decide between them."""


class StaticModel(NamedTuple):
    """How the texts of one index become static vectors: what each token weighs, and what is usual among them.

    `weights` has a value for each token of the vocabulary, `mean` one for each dimension; both are float32.
    """

    weights: NDArray[np.float32]
    mean: NDArray[np.float32]

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give the static vectors of texts, of shape (texts, dimensions); what is usual is zero in every dimension."""
        vectors: NDArray[np.float32] = _unit(_sums(_words.bags(texts), self.weights)) - self.mean
        return vectors

    def codes(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        """Give what is stored of texts, of shape (texts, CODE_BYTES)."""
        return np.packbits(self.vectors(texts) > 0, axis=1)


def learned(texts: Sequence[str]) -> StaticModel:
    """Learn from a sample of the texts of an index how rare each token is there, and what is usual."""
    bags = _words.bags(texts)
    n_texts = np.zeros(N_TOKENS, np.float32)
    for tokens in np.split(bags.tokens, np.cumsum(bags.lengths)[:-1]):
        n_texts[np.unique(tokens)] += 1
    rarity = np.log((len(texts) + 1) / (n_texts + 1))
    # In a sample most tokens are equally rare, and the vocabulary is ordered by frequency.
    usual_rarity = np.log1p(np.maximum(np.arange(N_TOKENS) - _SPECIAL_TOKENS, 0))
    weights = (rarity * usual_rarity / usual_rarity.max()).astype(np.float32)
    mean = _unit(_sums(bags, weights)).mean(axis=0) if texts else np.zeros(DIMENSIONS, np.float32)
    return StaticModel(weights, mean)


def nearest_codes(codes: NDArray[np.uint8], vector: NDArray[np.float32], limit: int) -> list[int]:
    """Give the places of the `limit` codes nearest to a static vector, or of all there are, nearest first."""
    n_chosen = min(len(codes), limit * _NEAR)
    signs = np.packbits(vector > 0)
    distances = np.bitwise_count(codes.view(np.uint64) ^ signs.view(np.uint64)).sum(axis=1, dtype=np.uint16)
    chosen = np.argpartition(distances, n_chosen - 1)[:n_chosen] if n_chosen < len(codes) else np.arange(len(codes))
    similarities = np.unpackbits(codes[chosen], axis=1) @ vector
    best = np.argsort(-similarities, kind="stable")[:limit]
    return [int(place) for place in chosen[best]]


def packed_table(vectors: NDArray[np.float32]) -> bytes:
    """Pack a table of shape (tokens, dimensions): four bits a value, and the scale of each row as float32."""
    scales = (np.abs(vectors).max(axis=1) / _LARGEST).astype(np.float32)
    values = np.round(vectors / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8) + _ZERO
    halves: NDArray[np.uint8] = (values[:, 0::2] << 4 | values[:, 1::2]).astype(np.uint8)
    return bytes(scales.tobytes() + halves.tobytes())


_LARGEST = 7
_ZERO = 8


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Bring vectors to length 1, and leave those alone that have none."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _sums(bags: _Bags, weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Add up the weighed rows of the table over each bag: a matrix of counts times the rows that are needed."""
    n_texts = bags.lengths.size
    is_used = np.zeros(N_TOKENS, bool)
    is_used[bags.tokens] = True
    used = np.flatnonzero(is_used)
    columns = np.zeros(N_TOKENS, np.int64)
    columns[used] = np.arange(used.size)
    places = np.repeat(np.arange(n_texts) * used.size, bags.lengths) + columns[bags.tokens]
    counts = np.bincount(places, minlength=n_texts * used.size).reshape(n_texts, used.size)
    sums: NDArray[np.float32] = counts.astype(np.float32) @ (_rows(used) * weights[used, None])
    return sums


def _rows(tokens: NDArray[np.int64]) -> NDArray[np.float32]:
    scales, halves = _table()
    pairs = halves[tokens]
    rows = np.empty((tokens.size, DIMENSIONS), np.int8)
    rows[:, 0::2], rows[:, 1::2] = pairs >> 4, pairs & 0xF
    rows -= _ZERO
    return rows * scales[tokens, None]


@cache
def _table() -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    path = verified_file(_TABLE)
    scales = np.fromfile(path, np.float32, N_TOKENS)
    halves = np.memmap(path, np.uint8, mode="r", offset=scales.nbytes, shape=(N_TOKENS, DIMENSIONS // 2))
    return scales, halves


class _Bags(NamedTuple):
    """The tokens of texts, one text after the other, and how many each text has."""

    tokens: NDArray[np.int32]
    lengths: NDArray[np.int64]


class _Words(dict[bytes, int]):
    """The words seen, each with its number: its tokens end where `_ends` says in one long row of tokens.

    So a text costs one look-up a word. Of ASCII texts the punctuation is left out, which says nothing here.
    """

    def __init__(self) -> None:
        self._tokens, self._ends = array("i"), array("q", [0])

    def bags(self, texts: Sequence[str]) -> _Bags:
        """Cut texts into tokens."""
        if len(self._tokens) >= _MOST_TOKENS:
            self.clear()
            self._tokens, self._ends = array("i"), array("q", [0])
        words = [self._numbers(text) for text in texts]
        ends, all_words = np.array(self._ends, np.int64), np.array(list(chain.from_iterable(words)), np.int64)
        starts, lengths = ends[all_words], ends[all_words + 1] - ends[all_words]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        tokens = np.array(self._tokens, np.int32)[np.repeat(starts, lengths) + within]
        behind = np.append(0, np.cumsum(lengths))[np.cumsum([0, *map(len, words)])]
        return _Bags(tokens, np.diff(behind))

    def __missing__(self, word: bytes) -> int:
        self._tokens.extend(pieces_of_ascii_word(word.decode()) if word.isascii() else pieces_of_text(word.decode()))
        self._ends.append(len(self._tokens))
        return self.setdefault(word, len(self._ends) - 2)

    def _numbers(self, text: str) -> list[int]:
        if text.isascii():
            return [self[word] for word in words_of_ascii(text)]
        parts = text.split()
        words = words_of_ascii(" ".join(filter(str.isascii, parts)))
        words += [part.encode(errors="replace") for part in parts if not part.isascii()]
        return [self[word] for word in words]


_MOST_TOKENS = 1 << 20
_words = _Words()
