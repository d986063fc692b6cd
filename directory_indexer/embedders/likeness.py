"""How alike a question and passages are by the static table, without numpy, which a search by words does not load.

The sums are those of `static_table`, weighted by how rare a token is, judging by its place in the vocabulary. A row is
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
from itertools import chain
from operator import mul
from typing import Final, NamedTuple

from directory_indexer.embedders.model_files import DIMENSIONS, verified_file
from directory_indexer.embedders.wordpiece import N_TOKENS, pieces_of_ascii_word, words_of
from directory_indexer.errors import ProviderError


def likeness(question: str, passages: Sequence[str]) -> float | None:
    """Return the mean cosine of a question with passages, from -1 to 1; None where one side has no word of the table.

    Letters with accents count as those without, and what is not written in Latin letters is left out.
    """
    try:
        table = _table()
    except ProviderError:
        return None  # embedding reports what is wrong with the package
    asked = table.vector(question)
    found = [vector for vector in map(_kept_vector, passages) if vector]
    if not asked or not found:
        return None
    return math.fsum(_product(asked, vector) for vector in found) / len(found)


class _Table(NamedTuple):
    scales: array[float]
    halves: mmap.mmap

    def vector(self, text: str) -> list[float]:
        """Add up the rows of the tokens of a text, brought to length 1; nothing where there is none."""
        total = offset = 0
        for token, n_times in _tokens(text).items():
            weight = n_times * round(self.scales[token] * math.log1p(token - _SPECIAL_TOKENS) * _UNIT)
            total += weight * self._row(token)
            offset += weight * _ZERO
        lanes = memoryview(total.to_bytes(4 * DIMENSIONS, "little")).cast("I").tolist()
        sums = [lane - offset for lane in lanes]
        length = math.sqrt(_product(sums, sums))
        return [one / length for one in sums] if length else []

    def _row(self, token: int) -> int:
        """Spread the four bits of each dimension over lanes, those of even dimensions before the others."""
        start = 4 * N_TOKENS + token * (DIMENSIONS // 2)
        halves = self.halves[start : start + DIMENSIONS // 2]
        lanes = bytearray(4 * DIMENSIONS)
        lanes[: 2 * DIMENSIONS : 4] = halves.translate(_UPPER)
        lanes[2 * DIMENSIONS :: 4] = halves.translate(_LOWER)
        return int.from_bytes(lanes, "little")


@lru_cache(maxsize=256)
def _kept_vector(passage: str) -> array[float]:
    """Return the vector of a passage; who types on is nearly always shown the same ones with the next key."""
    return array("d", _table().vector(passage))


@cache
def _table() -> _Table:
    with open(verified_file("static.bin"), "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    scales = array("f")
    scales.frombytes(mapped[: 4 * N_TOKENS])
    return _Table(scales, mapped)


def _tokens(text: str) -> Counter[int]:
    parted = text if text.isascii() else unicodedata.normalize("NFD", text)
    words = words_of("".join(one if one.isascii() else _instead_of(one) for one in parted))
    pieces = chain.from_iterable(map(pieces_of_ascii_word, map(bytes.decode, words[:_MOST_WORDS])))
    return Counter(token for token in pieces if token > _SPECIAL_TOKENS)


def _instead_of(letter: str) -> str:
    return "" if unicodedata.combining(letter) else " "


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    total: float = sum(map(mul, one, other))
    return total


_SPECIAL_TOKENS: Final = 998
_ZERO: Final = 8
_UPPER: Final = bytes(byte >> 4 for byte in range(256))
_LOWER: Final = bytes(byte & 0xF for byte in range(256))

_MOST_WORDS: Final = 1000
"""More than a passage has, and few enough that no lane overflows."""

_UNIT: Final = 256
"""Weights are integers: the table's scales times a logarithm are fractions."""
