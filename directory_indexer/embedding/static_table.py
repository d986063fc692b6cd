"""Static vectors: an approximate embedding from a table of tokens instead of the model.

A hundred times cheaper than the model's vectors, and good enough to find candidates among chunks without vectors. The
table holds the model's own vector of each single token, without the mean and the first principal component; a text is
the sum over its tokens, whose order does not matter, weighted by rarity (Arora, Liang and Ma 2017; model2vec makes such
tables of any model). Of a text, the sign of each dimension is stored. `packaging/model/build_static_table` builds it.

An index has rows of its own for tokens in texts that the model has embedded. They are trained by ridge regression in
closed form: they fit the vectors of those texts, and stay near the shipped table where the texts have little
information. A hundred texts improve recall by a tenth, since an index has its own vocabulary. docs/ranking-results.md
has the measurements.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from directory_indexer.core.lazy import lazily
from directory_indexer.embedding.model_files import DIMENSIONS, verified_file
from directory_indexer.embedding.wordpiece import N_SPECIAL_TOKENS, N_TOKENS, lower_words, token_ids_of_text

with lazily:
    from numpy.typing import NDArray


CODE_BYTES: Final = DIMENSIONS // 8
"""Size of a stored code: one bit for each dimension."""

_TABLE_FILE = "static.bin"
_OVERSAMPLING = 10
"""Oversampling: this multiple of the limit is selected by bits before the query's exact values rank them."""


class TrainedRows(NamedTuple):
    """Rows of one index that replace those of the table: the tokens, ascending, and their rows, packed alike."""

    tokens: NDArray[np.uint16]
    scales: NDArray[np.float32]
    halves: NDArray[np.uint8]

    def __bytes__(self) -> bytes:
        """Return the format that `parse_trained_rows` parses."""
        return b"".join((self.tokens.tobytes(), self.scales.tobytes(), self.halves.tobytes()))


@dataclass(frozen=True)
class StaticModel:
    """The static model of one index: token weights, the mean static vector, and rows of its own.

    `weights` has a value for each token of the vocabulary, `mean` one for each dimension; both are float32.
    `model_mean` is the mean of the vectors that its rows were trained on; None if there were none.
    """

    weights: NDArray[np.float32]
    mean: NDArray[np.float32]
    own: TrainedRows
    model_mean: NDArray[np.float32] | None = None

    @cached_property
    def rows(self) -> Rows:
        """The rows of the table with those of the index."""
        return Rows(self.own)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the centred static vectors of texts, of shape (texts, dimensions)."""
        vectors: NDArray[np.float32] = normalise_vectors(self._sums(tokenise_texts(texts))) - self.mean
        return vectors

    def means(self) -> bytes:
        """Return both means in the format that `parse_static_model` parses."""
        return self.mean.tobytes() + (b"" if self.model_mean is None else self.model_mean.tobytes())

    def codes(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        """Return the stored codes of texts, of shape (texts, CODE_BYTES)."""
        return np.packbits(self.vectors(texts) > 0, axis=1)

    def with_mean_vector_of(self, texts: Sequence[str]) -> StaticModel:
        """Return a model whose mean is that of these texts."""
        if not texts:
            return replace(self, mean=np.zeros(DIMENSIONS, np.float32))
        return replace(self, mean=normalise_vectors(self._sums(tokenise_texts(texts))).mean(axis=0))

    def _sums(self, bags: TokenBags) -> NDArray[np.float32]:
        """Return the weighted sum of the rows of each bag."""
        return np.concatenate([self._sums_by_matrix(part) for part in bags.parts(_TEXTS_PER_BATCH)])

    def _sums_by_matrix(self, bags: TokenBags) -> NDArray[np.float32]:
        """Return the sums by one matrix product; with few texts, the matrix of counts is dense."""
        used = np.unique(bags.tokens)
        scales, values = self.rows.of(used)
        sums: NDArray[np.float32] = (count_tokens_in_bags(bags, used) * (scales * self.weights[used])) @ values
        return sums


class Rows:
    """The rows of one index, each unpacked on first use: most texts share most of their tokens.

    `of` returns them as float32 values without their scales, which act like weights of tokens.
    """

    def __init__(self, own: TrainedRows) -> None:
        self._own = own
        self._values = np.empty((N_TOKENS, DIMENSIONS), np.int8)
        self._scales = np.empty(N_TOKENS, np.float32)
        self._is_known = np.zeros(N_TOKENS, np.bool_)

    def of(self, tokens: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the scales and the values of the rows of distinct tokens."""
        new = tokens[~self._is_known[tokens]]
        if new.size:
            self._unpack_missing(new)
        return self._scales[tokens], self._values[tokens].astype(np.float32)

    def _unpack_missing(self, tokens: NDArray[np.int32]) -> None:
        scales, halves = _load_table()
        self._scales[tokens], self._values[tokens] = scales[tokens], _unpack_half_bytes(halves[tokens])
        if self._own.tokens.size:
            places = np.minimum(np.searchsorted(self._own.tokens, tokens), self._own.tokens.size - 1)
            is_own = self._own.tokens[places] == tokens
            self._scales[tokens[is_own]] = self._own.scales[places[is_own]]
            self._values[tokens[is_own]] = _unpack_half_bytes(self._own.halves[places[is_own]])
        self._is_known[tokens] = True


def parse_static_model(weights: bytes, means: bytes, own: bytes) -> StaticModel:
    """Return the model that an index has stored; indexes of earlier versions lack the second mean.

    Raises:
        ValueError: it is damaged.
    """
    one_mean = _FLOAT_BYTES * DIMENSIONS
    if len(weights) != _FLOAT_BYTES * N_TOKENS or len(means) not in (one_mean, 2 * one_mean):
        raise ValueError("not the weights and the means of this table")
    mean, *others = vectors = np.frombuffer(means, np.float32).reshape(-1, DIMENSIONS)
    if not np.isfinite(vectors).all():
        raise ValueError("a mean that is not finite")
    rows = parse_trained_rows(own)
    if rows.tokens.size and int(rows.tokens.max()) >= N_TOKENS:
        raise ValueError("rows of unknown tokens")
    return StaticModel(np.frombuffer(weights, np.float32), mean, rows, others[0] if others else None)


def parse_trained_rows(packed: bytes) -> TrainedRows:
    """Parse the packed rows of an index."""
    n_rows = len(packed) // (2 + 4 + DIMENSIONS // 2)
    return TrainedRows(
        np.frombuffer(packed, np.uint16, n_rows),
        np.frombuffer(packed, np.uint8, 4 * n_rows, offset=2 * n_rows).view(np.float32),
        np.frombuffer(packed, np.uint8, offset=6 * n_rows).reshape(n_rows, DIMENSIONS // 2),
    )


def token_weights(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the weight of each token, computed from a sample of an index's texts."""
    bags = tokenise_texts(texts)
    n_texts = np.zeros(N_TOKENS, np.float32)
    for tokens in np.split(bags.tokens, np.cumsum(bags.lengths)[:-1]):
        n_texts[np.unique(tokens)] += 1
    rare_here = np.log((len(texts) + 1) / (n_texts + 1))
    # Most tokens are equally rare in a sample, so the vocabulary's order by frequency is used, too.
    usual_rarity = np.log1p(np.maximum(np.arange(N_TOKENS) - N_SPECIAL_TOKENS, 0))
    weights: NDArray[np.float32] = (rare_here * usual_rarity / usual_rarity.max()).astype(np.float32)
    return weights


def nearest_codes(codes: NDArray[np.uint8], vector: NDArray[np.float32], limit: int) -> list[int]:
    """Return the indexes of the `limit` codes nearest to a static vector, or of all codes, nearest first."""
    n_chosen = min(len(codes), limit * _OVERSAMPLING)
    signs = np.packbits(vector > 0)
    distances = np.bitwise_count(codes.view(np.uint64) ^ signs.view(np.uint64)).sum(axis=1, dtype=np.uint16)
    chosen = np.argpartition(distances, n_chosen - 1)[:n_chosen] if n_chosen < len(codes) else np.arange(len(codes))
    best = np.argsort(-static_similarities(codes[chosen], vector), kind="stable")[:limit]
    return [int(place) for place in chosen[best]]


def static_similarities(codes: NDArray[np.uint8], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosines of the signs of codes with a static vector, from -1 to 1."""
    sums = 2 * (np.unpackbits(codes, axis=1) @ vector) - vector.sum()
    length = max(float(np.linalg.norm(vector)) * DIMENSIONS**0.5, _EPSILON)
    cosines: NDArray[np.float32] = (sums / length).astype(np.float32)
    return cosines


def pack_rows(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Pack rows: the scale of each as float32, and four bits a value."""
    scales = (np.abs(vectors).max(axis=1, initial=0) / _MAX_CODE).astype(np.float32)
    values = np.round(vectors / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8) + _CODE_OF_ZERO
    return scales, (values[:, 0::2] << 4 | values[:, 1::2]).astype(np.uint8)


def pack_table(vectors: NDArray[np.float32]) -> bytes:
    """Pack a table of shape (tokens, dimensions) in the format of the package."""
    scales, halves = pack_rows(vectors)
    return bytes(scales.tobytes() + halves.tobytes())


_FLOAT_BYTES = 4
_TEXTS_PER_BATCH = 32
"""With 8, or with 512, the sums take half as long again."""

_EPSILON = 1e-9
_MAX_CODE = 7
_CODE_OF_ZERO = 8


def normalise_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalise vectors to length 1; zero vectors are unchanged."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def packaged_rows(tokens: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the rows of the packaged table."""
    scales, halves = _load_table()
    return _unpack_rows(scales[tokens], halves[tokens])


def _unpack_rows(scales: NDArray[np.float32], halves: NDArray[np.uint8]) -> NDArray[np.float32]:
    return _unpack_half_bytes(halves) * scales[:, None]


def _unpack_half_bytes(halves: NDArray[np.uint8]) -> NDArray[np.int8]:
    values = np.empty((len(halves), DIMENSIONS), np.int8)
    values[:, 0::2], values[:, 1::2] = halves >> 4, halves & 0xF
    values -= _CODE_OF_ZERO
    return values


@cache
def _load_table() -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    path = verified_file(_TABLE_FILE)
    scales = np.fromfile(path, np.float32, N_TOKENS)
    halves = np.memmap(path, np.uint8, mode="r", offset=scales.nbytes, shape=(N_TOKENS, DIMENSIONS // 2))
    return scales, halves


_REGULARISATION = 1.0
"""Strength of the regularisation towards the table; 0.3 and 3 change little."""

_TOKENS_PER_BLOCK = 2048
"""Tokens processed together, which bounds the memory."""


class TrainingData(NamedTuple):
    """Training texts, and their vectors from the packaged model, of shape (texts, dimensions)."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]


def train_static_model(texts: Sequence[str], data: TrainingData | None = None) -> StaticModel:
    """Train on a sample of an index's texts: token weights, and rows from `data`."""
    weights = token_weights(texts)
    own = _trained_rows(weights, data) if data is not None and data.texts else parse_trained_rows(b"")
    model_mean = data.vectors.mean(axis=0) if data is not None and own.tokens.size else None
    return StaticModel(weights, np.empty(0, np.float32), own, model_mean).with_mean_vector_of(texts)


def _trained_rows(weights: NDArray[np.float32], data: TrainingData) -> TrainedRows:
    bags = tokenise_texts(data.texts)
    blocks = np.array_split(np.unique(bags.tokens), -(-np.unique(bags.tokens).size // _TOKENS_PER_BLOCK) or 1)
    lengths = _weighted_lengths(bags, blocks, weights)
    targets = data.vectors - data.vectors.mean(axis=0)
    sums = np.zeros_like(targets)
    kernel = _REGULARISATION * np.eye(len(data.texts), dtype=np.float32)
    for tokens, weighed in _weighted_counts_by_block(bags, blocks, weights, lengths):
        kernel += weighed @ weighed.T
        sums += weighed @ packaged_rows(tokens)
    # The rows are trained on the scale of the table, so that the shipped rows need no rescaling.
    scale = float((sums * targets).sum() / max(float((sums * sums).sum()), _MIN_SQUARE))
    if scale <= 0:
        return parse_trained_rows(b"")
    missing = np.linalg.solve(kernel, targets / scale - sums)
    rows = [
        packaged_rows(tokens) + weighed.T @ missing
        for tokens, weighed in _weighted_counts_by_block(bags, blocks, weights, lengths)
    ]
    scales, halves = pack_rows(np.concatenate(rows).astype(np.float32))
    return TrainedRows(np.concatenate(blocks).astype(np.uint16), scales, halves)


def _weighted_counts_by_block(
    bags: TokenBags, blocks: Sequence[NDArray[np.int32]], weights: NDArray[np.float32], lengths: NDArray[np.float32]
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Yield, block by block, the tokens and their weights in each text, which has the length 1 in total."""
    for tokens in blocks:
        yield tokens, count_tokens_in_bags(bags, tokens) * weights[tokens] / lengths


def _weighted_lengths(
    bags: TokenBags, blocks: Sequence[NDArray[np.int32]], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    squares = np.zeros((bags.lengths.size, 1), np.float32)
    for tokens in blocks:
        squares += np.square(count_tokens_in_bags(bags, tokens) * weights[tokens]).sum(axis=1, keepdims=True)
    return np.sqrt(np.maximum(squares, _MIN_SQUARE))


_MIN_SQUARE = 1e-12


class TokenBags(NamedTuple):
    """The tokens of texts, one text after the other, and the number of tokens of each text."""

    tokens: NDArray[np.int32]
    lengths: NDArray[np.int64]

    def parts(self, n_texts: int) -> Iterator[TokenBags]:
        """Yield batches of `n_texts` texts."""
        ends = np.append(0, np.cumsum(self.lengths))
        for start in range(0, max(self.lengths.size, 1), n_texts):
            lengths = self.lengths[start : start + n_texts]
            yield TokenBags(self.tokens[ends[start] : ends[start + lengths.size]], lengths)


def tokenise_texts(texts: Sequence[str]) -> TokenBags:
    """Tokenise texts."""
    return _word_token_cache.bags(texts)


def count_tokens_in_bags(bags: TokenBags, tokens: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the counts of these tokens in each bag; an array of shape (bags, tokens)."""
    columns = np.full(N_TOKENS, -1, np.int64)
    columns[tokens] = np.arange(tokens.size)
    column = columns[bags.tokens]
    bag = np.repeat(np.arange(bags.lengths.size), bags.lengths)
    cell_counts = np.bincount((bag * tokens.size + column)[column >= 0], minlength=bags.lengths.size * tokens.size)
    return cell_counts.reshape(bags.lengths.size, tokens.size).astype(np.float32)


class _WordTokenCache(dict[bytes, int]):
    """The words seen so far, numbered; the tokens of a word end at its entry of `_ends` in one long array.

    A text then costs one look-up per word. ASCII punctuation is left out, since it carries no meaning here.
    """

    def __init__(self) -> None:
        self._tokens, self._ends = array("i"), array("q", [0])

    def bags(self, texts: Sequence[str]) -> TokenBags:
        """Tokenise texts."""
        if len(self._tokens) >= _MAX_TOKENS:
            self.clear()
            self._tokens, self._ends = array("i"), array("q", [0])
        words = [lower_words(text) for text in texts]
        lengths_in_words = list(map(len, words))
        all_words = np.fromiter(map(self.__getitem__, chain.from_iterable(words)), np.int64, sum(lengths_in_words))
        ends = np.frombuffer(self._ends, np.int64)
        starts, lengths = ends[all_words], ends[all_words + 1] - ends[all_words]
        behind = np.append(0, np.cumsum(lengths))
        places = np.arange(behind[-1]) + np.repeat(starts - behind[:-1], lengths)
        tokens = np.frombuffer(self._tokens, np.int32)[places] if places.size else np.empty(0, np.int32)
        return TokenBags(tokens, np.diff(behind[np.cumsum([0, *lengths_in_words])]))

    def __missing__(self, word: bytes) -> int:
        self._tokens.extend(token_ids_of_text(word.decode()))
        self._ends.append(len(self._tokens))
        return self.setdefault(word, len(self._ends) - 2)


_MAX_TOKENS = 1 << 20
_word_token_cache = _WordTokenCache()
