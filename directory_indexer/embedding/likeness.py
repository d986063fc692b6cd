"""Similarity of a question and passages by static vectors, in pure Python: keyword searches do not load numpy.

The sums are those of `static_table`, weighted by token rarity, estimated from the position in the vocabulary. A row is
one large integer with a lane of 32 bits for each dimension, so that a token costs one multiplication and one addition.
"""

from __future__ import annotations

import math
import mmap
import unicodedata
from array import array
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from operator import mul
from typing import Final, NamedTuple

from directory_indexer.core.errors import ProviderError
from directory_indexer.embedding.model_files import DIMENSIONS, verified_file
from directory_indexer.embedding.wordpiece import (
    N_SPECIAL_TOKENS,
    N_TOKENS,
    is_whole_token,
    lower_words,
    token_ids_of_text,
)


def mean_similarity(question: str, passages: Sequence[str]) -> float | None:
    """Return the mean cosine of a question with passages, from -1 to 1; None if one side has no word of the table.

    Accented letters count as those without, and non-Latin letters are ignored.
    """
    try:
        table = _load_static_table()
    except ProviderError:
        return None  # embedding reports the damaged package
    question_vector = table.vector(question)
    vectors = [vector for vector in map(_cached_vector, passages) if vector]
    if not question_vector or not vectors:
        return None
    return math.fsum(_dot_product(question_vector, vector) for vector in vectors) / len(vectors)


def are_different_words(first: str, second: str) -> bool:
    """Whether the model knows the first word, in lower case, and the second is no spelling of it.

    A word that it does not know is of another language: `nummer` is no error for `number`.

    Measured: of 30 pairs of different words that are one letter apart, 26 have a cosine below the limit. Spellings of
    one word (`harbor`, `harbour`: .78) and of one name (`viktor`, `victor`: .26) are above it, with few exceptions
    (`storey`, `story`).
    """
    try:
        if not is_whole_token(first):
            return False
        if not is_whole_token(second):
            return True
    except ProviderError:
        return False
    similarity = mean_similarity(first, [second])
    return similarity is not None and similarity < _MIN_SIMILARITY_OF_SPELLINGS


class _StaticTable(NamedTuple):
    scales: array[float]
    halves: mmap.mmap

    def vector(self, text: str) -> list[float]:
        """Return the normalised sum of the rows of a text's tokens, or [] without tokens."""
        total = offset = 0
        for token, n_times in _count_tokens_of(text).items():
            weight = n_times * round(self.scales[token] * math.log1p(token - N_SPECIAL_TOKENS) * _CODE_SCALE)
            total += weight * _spread_row(token)
            offset += weight * _CODE_OF_ZERO
        lanes = memoryview(total.to_bytes(4 * DIMENSIONS, "little")).cast("I").tolist()
        sums = [lane - offset for lane in lanes]
        length = math.sqrt(_dot_product(sums, sums))
        return [component / length for component in sums] if length else []


@lru_cache(maxsize=256)
def _cached_vector(passage: str) -> array[float]:
    """Return the vector of a passage; cached, since consecutive searches while typing have mostly the same hits."""
    return array("d", _load_static_table().vector(passage))


@lru_cache(maxsize=512)
def _spread_row(token: int) -> int:
    """Spread the four bits of each dimension over lanes, even dimensions first; cached, as texts share most tokens."""
    start = 4 * N_TOKENS + token * (DIMENSIONS // 2)
    halves = _load_static_table().halves[start : start + DIMENSIONS // 2]
    lanes = bytearray(4 * DIMENSIONS)
    lanes[: 2 * DIMENSIONS : 4] = halves.translate(_UPPER_HALF_BYTES)
    lanes[2 * DIMENSIONS :: 4] = halves.translate(_LOWER_HALF_BYTES)
    return int.from_bytes(lanes, "little")


@cache
def _load_static_table() -> _StaticTable:
    with open(verified_file("static.bin"), "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    scales = array("f")
    scales.frombytes(mapped[: 4 * N_TOKENS])
    return _StaticTable(scales, mapped)


def _count_tokens_of(text: str) -> Counter[int]:
    parted = text if text.isascii() else unicodedata.normalize("NFD", text)
    words = lower_words("".join(letter if letter.isascii() else _replacement_of_mark(letter) for letter in parted))
    pieces = token_ids_of_text(b" ".join(words[:_MAX_WORDS]).decode())
    return Counter(token for token in pieces if token > N_SPECIAL_TOKENS)


def _replacement_of_mark(letter: str) -> str:
    return "" if unicodedata.combining(letter) else " "


def _dot_product(left: Sequence[float], right: Sequence[float]) -> float:
    total: float = sum(map(mul, left, right))
    return total


_MIN_SIMILARITY_OF_SPELLINGS: Final = 0.25
_CODE_OF_ZERO: Final = 8
_UPPER_HALF_BYTES: Final = bytes(byte >> 4 for byte in range(256))
_LOWER_HALF_BYTES: Final = bytes(byte & 0xF for byte in range(256))

_MAX_WORDS: Final = 1000
"""More than a passage has, and few enough that no lane overflows."""

_CODE_SCALE: Final = 256
"""Weights are integers: the table's scales times a logarithm are fractions."""
