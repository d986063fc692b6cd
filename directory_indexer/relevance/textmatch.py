"""How well the words of one passage answer a query, measured on its text.

SQLite's bm25() orders candidates of the list of words; this measure is the same for all candidates, whichever list
they come from, and lies between 0 and 1 for every query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from directory_indexer.relevance.analyzer import part_words, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from directory_indexer.relevance.matchplan import MatchPlan


@dataclass(frozen=True, slots=True)
class TextMatch:
    """How much of what is looked for a passage has, each between 0 and 1, weighed by how telling each word is.

    `frequency` is bm25 as a share of the most that any text could reach, `coverage` the share of the words that occur
    at all, `nearness` the share of neighbouring words that stand together, `naming` the share that occur in heading,
    title or path.
    """

    frequency: float
    coverage: float
    nearness: float
    naming: float


class Matcher:
    """A plan made ready to be held against many passages."""

    def __init__(self, plan: MatchPlan) -> None:
        self._terms_of: dict[str, list[int]] = {}
        self._rows: list[tuple[int, tuple[str, ...]]] = []
        for index, term in enumerate(plan.terms):
            for form in term.forms:
                self._terms_of.setdefault(form, []).append(index)
            self._rows += [(index, row) for row in term.rows]
        self._weights = plan.weights
        self._row_words = {word for _, row in self._rows for word in row}
        self._pairs = [min(pair) for pair in pairwise(self._weights)]
        self._all_pairs = math.fsum(self._pairs) or 1.0
        self._total = math.fsum(self._weights) or 1.0

    def match(self, text: str, *, names: str) -> TextMatch:
        """Measure one passage; `names` is what stands above it: heading, title, path."""
        found = words(text)
        terms_of = self._terms_of.get
        hits = [(place, index) for place, word in enumerate(found) if (indexes := terms_of(word)) for index in indexes]
        counts = [0.0] * len(self._weights)
        for _, index in hits:
            counts[index] += 1.0
        for word in part_words(text):
            for index in terms_of(word, ()):
                counts[index] += 0.5
        for index, row in self._rows:
            counts[index] += _count_row(found, row)
        length = _SLOPE * len(found) / _USUAL_LENGTH + 1 - _SLOPE
        weighed = [(weight, n) for weight, n in zip(self._weights, counts, strict=True) if n]
        frequency = math.fsum(weight * n / (n + _SATURATION * length) for weight, n in weighed)
        coverage = math.fsum(weight for weight, _ in weighed)
        return TextMatch(frequency / self._total, coverage / self._total, self._nearness(hits), self._naming(names))

    def _nearness(self, hits: Sequence[tuple[int, int]]) -> float:
        near = {
            min(index, other)
            for at, (place, index) in enumerate(hits)
            for there, other in hits[at + 1 : at + 1 + _NEAR]
            if abs(index - other) == 1 and there - place <= _NEAR
        }
        return math.fsum(self._pairs[index] for index in near) / self._all_pairs

    def _naming(self, names: str) -> float:
        found = {index for word in (*words(names), *part_words(names)) for index in self._terms_of.get(word, ())}
        return math.fsum(self._weights[index] for index in found) / self._total


def _count_row(found: Sequence[str], row: tuple[str, ...]) -> int:
    size = len(row)
    return sum(1 for at, word in enumerate(found) if word == row[0] and tuple(found[at : at + size]) == row)


_USUAL_LENGTH: Final = 150
_SLOPE: Final = 0.75
_SATURATION: Final = 1.2
_NEAR: Final = 3
