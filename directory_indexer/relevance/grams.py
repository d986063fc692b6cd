"""Languages that write no spaces between words: their letters are searched for in overlapping pieces.

The index has a piece for every letter. A question may do with fewer: pieces that overlap say the same thrice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

GRAM_SIZES: Final = (2, 3)
"""How many letters a piece has: two of East Asian languages, three of the others."""

UNSPACED: Final = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"  # Thai, Lao, Burmese, Khmer: three letters tell words apart best
    "|[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\uac00-\ud7af]+"  # Chinese, Japanese, and Korean, whose endings are glued to the word
)
"""A run of letters without spaces."""

UNSPACED_MARKS: Final = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    "\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd"
)
"""Vowels and tones around letters, which are parts of words for SQLite, and no letters for Python."""


def all_grams(run: str) -> str:
    """Cut a run of letters into overlapping pieces; the short ones at its end let any part of it be found."""
    size = size_in(run)
    return " ".join([run[at : at + size] for at in range(len(run))])


def full_grams(run: str) -> str:
    """Cut a run of letters into the pieces of it that are to be found: without the short ones at its end."""
    size = size_in(run)
    return " ".join([run[at : at + size] for at in range(max(1, len(run) - size + 1))])


def size_in(run: str) -> int:
    """Tell how many letters the pieces of a run have."""
    return GRAM_SIZES[1] if run[0] < "\u2000" else GRAM_SIZES[0]


def is_gram(word: str) -> bool:
    """Tell whether a word of a query is a piece of a run."""
    return not word.isascii() and bool(re.match(UNSPACED, word))


def run_of(row: Sequence[str]) -> str:
    """Put the pieces that follow each other in a run together again."""
    return "".join(gram[0] for gram in row[:-1]) + row[-1]


def telling(grams: Sequence[str], n_chunks: Mapping[str, int], *, step: int) -> list[str]:
    """Choose pieces from all over a question: of `step` that follow each other, the rarest that the index has."""
    groups = (grams[at : at + step] for at in range(0, len(grams), step))
    return [min(group, key=lambda gram: n_chunks.get(gram) or _ABSENT) for group in groups]


_ABSENT: Final = 1 << 62
