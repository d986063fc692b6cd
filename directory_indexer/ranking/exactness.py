"""Exactness: the evidence that a passage contains what was typed, as it was typed.

Whoever types a word, a name or a line knows that it occurs somewhere, and a passage that contains it is the answer,
however similar others are. Such evidence weighs as much as its information: much if one passage of ten thousand
contains it, nothing if half of them do.
"""

from __future__ import annotations

import math
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from directory_indexer.ranking.analyzer import is_gram, join_grams
from directory_indexer.ranking.plan import MatchPlan, TypedWord


class TextWords(NamedTuple):
    """The words of a text in order, those of its extra words that a query may have, and its letters without spaces."""

    words: Sequence[str]
    extra: AbstractSet[str]
    run: str


NO_WORDS: Final = TextWords((), frozenset(), "")


class TypedWords:
    """The words of a query that names something, prepared for the search in passages."""

    def __init__(self, words: Sequence[TypedWord]) -> None:
        self._words = words
        self._forms = frozenset[str]().union(*(word.forms for word in words))
        self._information = math.fsum([word.information for word in words]) or 1.0

    def match(self, passage: TextWords, above: TextWords) -> tuple[float, frozenset[str]]:
        """Return the share of the words that a passage or the text above it has, and its rare ones.

        The share is that of their information, 1 only for all of them in the passage itself.
        """
        in_passage = self._words_in(passage)
        present = zip(self._words, in_passage, strict=True)
        return self._share(in_passage, above), frozenset(
            word.text for word, is_there in present if is_there and word.is_rare
        )

    def _share(self, in_passage: Sequence[bool], above: TextWords) -> float:
        """Return the share of the information of the typed words that a passage or the text above it has."""
        if all(in_passage):
            return 1.0
        in_names = self._words_in(above)
        has = [in_text or in_name for in_text, in_name in zip(in_passage, in_names, strict=True)]
        if all(has):
            return NAMED_LEVEL
        matched = [word for word, is_there in zip(self._words, has, strict=True) if is_there]
        share = math.fsum([word.information for word in matched]) / self._information
        return _RARE_LEVEL + _PARTLY_RARE * share if any(word.is_rare for word in matched) else _PARTLY * share

    def _words_in(self, text: TextWords) -> list[bool]:
        """Return for each typed word whether it occurs in a text."""
        if not text.words:
            return [False] * len(self._words)
        known = {*self._forms.intersection(text.words), *self._forms.intersection(text.extra)}
        return [
            not word.forms.isdisjoint(known)
            or (bool(word.row) and bool(count_row(text.words, word.row)))
            or (bool(text.run) and _is_in_run(word, text.run))
            for word in self._words
        ]


def _is_in_run(word: TypedWord, run: str) -> bool:
    """Whether a word occurs in a run of letters without spaces."""
    has_form = any(is_gram(form) and form in run for form in word.forms)
    return has_form or (bool(word.row) and all(map(is_gram, word.row)) and join_grams(word.row) in run)


def count_row(text_words: Sequence[str], row: tuple[str, ...]) -> int:
    """Count how often words occur in a row."""
    count, at = 0, -1
    for _ in range(text_words.count(row[0])):
        at = text_words.index(row[0], at + 1)
        count += tuple(text_words[at : at + len(row)]) == row
    return count


_PARTLY: Final = 0.89
_RARE_LEVEL: Final = 0.92
"""The minimum level of a passage with a typed word that hardly any other has, even without the other words."""

_PARTLY_RARE: Final = 0.03
NAMED_LEVEL: Final = 0.96
"""The level of a passage with all typed words, some of which are only in the text above it."""


class TypedText:
    """The text of a query, prepared for the search in passages."""

    def __init__(self, plan: MatchPlan) -> None:
        words = [word for word in plan.typed if "*" not in word.text]
        self._needles = [needle for word in words if (needle := _strip_punctuation(_fold_case_and_blanks(word.text)))]
        self._row = _fold_case_and_blanks(plan.query.meaning) if plan.row else ""
        self._in_row = sorted(self._row.split(), key=len, reverse=True)
        self._knows_all_words = bool(words) and len(words) == len(plan.typed)

    @property
    def has_signs(self) -> bool:
        """Whether the words of the index leave out some characters of the query."""
        return not all(map(str.isalnum, self._needles))

    def level_may_differ(self, share: float) -> bool:
        """Whether the level of a passage may be other than the share of the words that it has.

        A passage that lacks some of them cannot have all of them in a row.
        """
        return share >= 1 or (bool(self._row) and not (self._knows_all_words and share < NAMED_LEVEL))

    def level(self, text: str, names: str, share: float) -> float:
        """Return how much of the query a passage contains literally.

        1 stands for all words, less than 1 for their `share` of the information, 2 for all words with their
        punctuation, 3 for the whole query in a row. `names` is the text above the passage, in which words count less.
        """
        if not self.level_may_differ(share) or (
            share < 1 and not (self._may_have_row(text) or self._may_have_row(names))
        ):
            return share
        haystack = f"{_fold_case_and_blanks(text)}\n{_fold_case_and_blanks(names)}"
        if self._row and _contains(haystack, self._row):
            return _HIGHEST_LEVEL
        if share < 1:
            return share
        is_literal = all(_contains(haystack, needle) for needle in self._needles)
        return (2 if self._row else _HIGHEST_LEVEL) if is_literal else 1

    def _may_have_row(self, text: str) -> bool:
        """Whether a text has the letters of all words of the query in a row, a fast check."""
        lowered = text.lower()
        return not text.isascii() or all(word in lowered for word in self._in_row)


class LevelWeights(NamedTuple):
    """The weights of the levels, in their order, each for the only passage that reaches it."""

    all_words: float
    literal: float
    in_row: float


def weights_of_levels(plan: MatchPlan) -> LevelWeights:
    """Return the weights of the levels for a query.

    The words of a topic occur together in many passages: three or more of them are evidence only if one is rare, or in
    a row.
    """
    if len(plan.typed) < _MIN_TOPIC_WORDS:
        return _LEVEL_WEIGHTS
    rarest = max(word.information for word in plan.typed) / math.log(plan.n_chunks + 2)
    topic = _TOPIC_SHARE * min(rarest, 1.0) ** _CERTAINTY
    all_words, literal, in_row = _LEVEL_WEIGHTS
    return LevelWeights(all_words * topic, literal * max(topic, _MIN_LITERAL_SHARE), in_row)


def weights_of_passages(levels: Sequence[float], n_chunks: int, weights: LevelWeights) -> list[float]:
    """Return the weight of each passage by its level: every level adds the information that so few passages reach it.

    A higher level never weighs less, and the only passage with all of the query weighs most.
    """
    highest = math.log(max(n_chunks, len(levels)) + 1)
    ordered = sorted(levels)

    def information(level: float) -> float:
        return 1 - math.log(len(ordered) - bisect_left(ordered, level)) / highest

    return [
        math.fsum(
            weight * min(level, 1.0) ** _CERTAINTY * information(min(level, reached))
            for reached, weight in enumerate(weights, start=1)
            if level > reached - 1
        )
        for level in levels
    ]


def _fold_case_and_blanks(text: str) -> str:
    """Return a text in lower case, with one blank for all white space."""
    lowered = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(lowered.split())


def _strip_punctuation(word: str) -> str:
    """Return a word without the punctuation and quotation marks around it."""
    return word.rstrip(".,;:!?'\"").lstrip("'\"")


def _contains(text: str, needle: str) -> bool:
    """Whether a text contains a needle that does not begin or end within a word.

    Compiling a pattern for each query takes longer than all of its searches.
    """
    has_start = _is_of_word(needle[0]) and not is_gram(needle[0])
    has_end = _is_of_word(needle[-1]) and not is_gram(needle[-1])
    at = text.find(needle)
    while at >= 0:
        end = at + len(needle)
        if not (has_start and _is_of_word(text[at - 1 : at])) and not (has_end and _is_of_word(text[end : end + 1])):
            return True
        at = text.find(needle, at + 1)
    return False


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


_HIGHEST_LEVEL: Final = 3
_CERTAINTY: Final = 8
"""Other passages contain a part of the query by chance, so that only nearly all of it is evidence."""

WEIGHT_OF_ALL_WORDS: Final = 1.2
"""The most that all words of a query weigh; only their signs or their order add to it."""

_LEVEL_WEIGHTS: Final = LevelWeights(all_words=WEIGHT_OF_ALL_WORDS, literal=0.6, in_row=1.2)
"""docs/ranking-results.md compares other values."""

_MIN_TOPIC_WORDS: Final = 3
_TOPIC_SHARE: Final = 0.5
_MIN_LITERAL_SHARE: Final = 0.3
"""Among prose, the forms that were typed tell more than others."""
