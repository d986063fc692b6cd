"""Exactness: the evidence that a passage contains what was typed, as it was typed.

Whoever types a word, a name or a line knows that it occurs somewhere, and a passage that contains it is the answer,
however similar others are. Such evidence weighs as much as its information: much if one passage of ten thousand
contains it, nothing if half of them do.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from directory_indexer.relevance.grams import is_gram
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.textmatch import NAMED_LEVEL


class TypedText:
    """The text of a query, prepared for the search in passages."""

    def __init__(self, plan: MatchPlan) -> None:
        words = [word for word in plan.typed if "*" not in word.text]
        self._needles = [needle for word in words if (needle := _strip_punctuation(_folded(word.text)))]
        self._words = list(map(_pattern, self._needles))
        self._row = _pattern(_folded(plan.query.meaning)) if plan.row else None
        self._knows_all_words = bool(words) and len(words) == len(plan.typed)

    @property
    def has_signs(self) -> bool:
        """Whether the words of the index leave out some characters of the query."""
        return any(not re.fullmatch(r"\w+", word) for word in self._needles)

    def level(self, text: str, names: str, *, share: float) -> float:
        """Return how much of the query a passage contains literally.

        1 stands for all words, less than 1 for their `share` of the information, 2 for all words with their
        punctuation, 3 for the whole query in a row. `names` is the text above the passage, in which words count less.
        """
        # A passage that lacks some of the words cannot have all of them in a row.
        if share < 1 and (not self._row or (self._knows_all_words and share < NAMED_LEVEL)):
            return share
        haystack = f"{_folded(text)}\n{_folded(names)}"
        if self._row and self._row.search(haystack):
            return _HIGHEST_LEVEL
        if share < 1:
            return share
        is_literal = all(word.search(haystack) for word in self._words)
        return (2 if self._row else _HIGHEST_LEVEL) if is_literal else 1


def level_weights(levels: Sequence[float], n_chunks: int) -> list[float]:
    """Return the weights of the levels of passages: each step adds the information that so few passages reach it.

    A higher level never weighs less, and the only passage with all of the query weighs most.
    """
    highest = math.log(max(n_chunks, len(levels)) + 1)
    ordered = sorted(levels)

    def information(level: float) -> float:
        return 1 - math.log(len(ordered) - bisect_left(ordered, level)) / highest

    return [
        math.fsum(
            weight * min(level, 1.0) ** _CERTAINTY * information(min(level, step))
            for step, weight in enumerate(_STEP_WEIGHTS, start=1)
            if level > step - 1
        )
        for level in levels
    ]


def _folded(text: str) -> str:
    """Return a text in lower case, with one blank for all white space."""
    lowered = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(lowered.split())


def _strip_punctuation(word: str) -> str:
    """Return a word without the punctuation and quotation marks around it."""
    return word.rstrip(".,;:!?'\"").lstrip("'\"")


def _pattern(needle: str) -> re.Pattern[str]:
    """Return a pattern for a text that does not begin or end within a word."""
    before = r"(?<!\w)" if re.match(r"\w", needle) and not is_gram(needle[0]) else ""
    behind = r"(?!\w)" if re.search(r"\w\Z", needle) and not is_gram(needle[-1]) else ""
    return re.compile(before + re.escape(needle) + behind)


_HIGHEST_LEVEL: Final = 3
_CERTAINTY: Final = 8
"""Other passages contain a part of the query by chance, so that only nearly all of it is evidence."""

_STEP_WEIGHTS: Final = (1.2, 0.6, 1.2)
"""The weight of each level for the only passage that reaches it; docs/ranking.md compares other values."""
