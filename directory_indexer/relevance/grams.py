"""N-grams of languages that write no spaces between words.

The index has an n-gram for every letter. A query can do with fewer, since overlapping n-grams are redundant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

GRAM_SIZES: Final = (2, 3)
"""The letters of an n-gram: two in East Asian languages, three in the others."""

UNSPACED: Final = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"  # Thai, Lao, Burmese, Khmer: trigrams discriminate best
    "|[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\uac00-\ud7af]+"  # Chinese, Japanese, and Korean, whose endings are joined to the word
)
"""A run of letters of languages without spaces."""

UNSPACED_MARKS: Final = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    "\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd"
)
"""Vowel and tone marks, which SQLite treats as parts of words and Python not as letters."""


def all_grams(run: str) -> str:
    """Split a run into overlapping n-grams, with the short ones at its end that make any part of it findable."""
    size = size_in(run)
    return " ".join([run[at : at + size] for at in range(len(run))])


def full_grams(run: str) -> str:
    """Split a run into the n-grams to search for, without the short ones at its end."""
    size = size_in(run)
    return " ".join([run[at : at + size] for at in range(max(1, len(run) - size + 1))])


def size_in(run: str) -> int:
    """Return the size of the n-grams of a run."""
    return GRAM_SIZES[1] if run[0] < "\u2000" else GRAM_SIZES[0]


def is_gram(word: str) -> bool:
    """Whether a word of a query is an n-gram."""
    return not word.isascii() and bool(re.match(UNSPACED, word))


def run_of(row: Sequence[str]) -> str:
    """Join consecutive n-grams to the run that they were cut from."""
    return "".join(gram[0] for gram in row[:-1]) + row[-1]


def select_grams(grams: Sequence[str], n_chunks: Mapping[str, int], *, step: int) -> list[str]:
    """Select n-grams from all over a query: the rarest known one of each `step` consecutive ones."""
    groups = (grams[at : at + step] for at in range(0, len(grams), step))
    return [min(group, key=lambda gram: n_chunks.get(gram) or _ABSENT) for group in groups]


_ABSENT: Final = 1 << 62
