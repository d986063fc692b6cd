"""How well the words of one passage answer a query, measured on its text.

SQLite's bm25() orders candidates of the list of words; this measure is the same for all candidates, whichever list
they come from, and lies between 0 and 1 for every query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from directory_indexer.analyzer import part_words, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from directory_indexer.matchplan import MatchPlan


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
        self._weights = [_telling(term.n_chunks, plan.n_chunks) for term in plan.terms]
        self._row_words = {word for _, row in self._rows for word in row}
        self._total = math.fsum(self._weights) or 1.0

    def match(self, text: str, *, names: str) -> TextMatch:
        """Measure one passage; `names` is what stands above it: heading, title, path."""
        found = words(text)
        places: list[list[int]] = [[] for _ in self._weights]
        for place, word in enumerate(found):
            for index in self._terms_of.get(word, ()):
                places[index].append(place)
        counts = [float(len(at)) for at in places]
        for word in part_words(text):
            for index in self._terms_of.get(word, ()):
                counts[index] += 0.5
        for index, row in self._rows:
            counts[index] += _count_row(found, row)
        length = _SLOPE * len(found) / _USUAL_LENGTH + 1 - _SLOPE
        frequency = math.fsum(
            w * n / (n + _SATURATION * length) for w, n in zip(self._weights, counts, strict=True) if n
        )
        coverage = math.fsum(w for w, n in zip(self._weights, counts, strict=True) if n)
        return TextMatch(frequency / self._total, coverage / self._total, self._nearness(places), self._naming(names))

    def _nearness(self, places: Sequence[Sequence[int]]) -> float:
        total = near = 0.0
        for index in range(len(places) - 1):
            weight = min(self._weights[index], self._weights[index + 1])
            total += weight
            if _stand_together(places[index], places[index + 1]):
                near += weight
        return near / total if total else 0.0

    def _naming(self, names: str) -> float:
        found = {index for word in (*words(names), *part_words(names)) for index in self._terms_of.get(word, ())}
        return math.fsum(self._weights[index] for index in found) / self._total


def _telling(n_chunks: int, n_all: int) -> float:
    return math.log(1 + (max(n_all, n_chunks) - n_chunks + 0.5) / (n_chunks + 0.5))


def _stand_together(first: Sequence[int], second: Sequence[int]) -> bool:
    return (
        any(-_NEAR <= there - here <= _NEAR for here in first for there in second)
        if len(first) * len(second) < 400
        else True
    )


def _count_row(found: Sequence[str], row: tuple[str, ...]) -> int:
    size = len(row)
    return sum(1 for at, word in enumerate(found) if word == row[0] and tuple(found[at : at + size]) == row)


_USUAL_LENGTH: Final = 150
_SLOPE: Final = 0.75
_SATURATION: Final = 1.2
_NEAR: Final = 3
