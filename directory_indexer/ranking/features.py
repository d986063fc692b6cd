"""Features of passages: keyword match and exactness, measured on their texts.

SQLite's bm25() selects the candidates of the keyword list; the keyword match is the same for all candidates, whichever
list they come from, and does not depend on the other candidates.

Exactness is the evidence that a passage contains what was typed, as it was typed. Whoever types a word, a name or a
line knows that it occurs somewhere, and a passage that contains it is the answer, however similar others are. Such
evidence weighs as much as its information: much if one passage of ten thousand contains it, nothing if half of them do.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from directory_indexer.ranking.analyzer import ExtraWords, extra_words, is_gram, run_of, split_unspaced, words
from directory_indexer.ranking.markup import readings
from directory_indexer.ranking.plan import MatchPlan, TypedWord


class TextMatch(NamedTuple):
    """Occurrences of each term of a plan in a text; other forms of a word and parts of names count less.

    `named` says of each term whether it occurs in heading, title or path. Of branches joined by `OR`, only the one
    counts that the text has most of; `total_weight` is that of the terms that count. `typed` is the share of the
    query's information that occurs in the form that was typed, 1 only for all of it.
    """

    counts: tuple[float, ...]
    named: tuple[bool, ...]
    n_words: int
    total_weight: float = 0.0
    typed: float = 0.0


class _TextWords(NamedTuple):
    """A text, its words in order, and those of its extra words that a query may have."""

    text: str
    words: Sequence[str]
    extra: AbstractSet[str]


class Matcher:
    """A plan prepared for matching many passages."""

    def __init__(self, plan: MatchPlan) -> None:
        self._forms: list[tuple[str, int, float]] = []
        self._rows: list[tuple[int, tuple[str, ...]]] = []
        for index, term in enumerate(plan.terms):
            self._forms += [(form, index, 1.0 if form == term.typed else _VARIANT) for form in sorted(term.forms)]
            self._rows += [(index, row) for row in term.rows]
        self._grams = [(form, index) for form, index, _ in self._forms if is_gram(form)]
        self._spaced = [form for form in self._forms if not is_gram(form[0])]
        self._known = frozenset(form for form, _, _ in self._forms)
        self._weights = plan.weights
        self._total = math.fsum(self._weights) or 1.0
        self._by_chance = math.log(max(plan.n_chunks, _MIN_CHUNKS) + 1)
        positions = {term.typed: index for index, term in enumerate(plan.terms)}
        self._branches = [
            [frozenset(positions[term] for term in branch if term in positions) for branch in group]
            for group in plan.branches
        ]
        names = {token for word in plan.query.words if word.is_name for token in (word.text, *word.tokens)}
        self._typed = plan.typed
        self._extra = ExtraWords(frozenset[str]().union(self._known, *(word.forms for word in plan.typed)))
        self._names = [index for index, term in enumerate(plan.terms) if term.typed in names]

    def match(self, text: str, *, names: str) -> TextMatch:
        """Count the terms in one passage; `names` is the text above it: heading, title, path."""
        runs, rest = split_unspaced(text)
        rest_words = words(rest)
        counts = [0.0] * len(self._weights)
        for gram, index in self._grams if runs else ():
            counts[index] += runs.count(gram)
        forms = self._possible_forms(rest, self._spaced)
        parts = self._extra.of(text)
        for form, index, amount in forms:
            counts[index] += (rest_words.count(form) + _PART * (form in parts)) * amount
        for index, row in self._rows:
            if all(map(is_gram, row)):
                counts[index] += runs.count(run_of(row))
            else:
                counts[index] += _count_row(words(text) if runs else rest_words, row)
        self._count_readings(text, counts)
        above = self._words_of(names)
        named = self._terms_in_words(above)
        n_words = len(rest_words) + len(runs) - runs.count("\n")
        match = TextMatch(
            tuple(counts),
            tuple(index in named for index in range(len(counts))),
            n_words,
            self._total,
            typed=self._share_of_typed(_TextWords(text, rest_words if text.isascii() else words(text), parts), above),
        )
        return self._without_unmatched_branches(match) if self._branches else match

    def _count_readings(self, text: str, counts: list[float]) -> None:
        """Count the terms that a text has only without its markup."""
        if all(counts) or not (plain_readings := readings(text)):
            return
        reading_words = words(plain_readings)
        for form, index, amount in self._forms:
            counts[index] = counts[index] or reading_words.count(form) * amount
        for index, row in self._rows:
            counts[index] = counts[index] or _count_row(reading_words, row)

    def _without_unmatched_branches(self, match: TextMatch) -> TextMatch:
        """Drop the branches of `OR` other than the one that a text has most of: they do not apply to that text."""
        counted = set(range(len(self._weights)))
        for group in self._branches:
            met = max(group, key=lambda branch: (self._branch_score(match, branch), self._weight(branch)))
            counted -= frozenset[int]().union(*group) - met
        return TextMatch(
            tuple(count if index in counted else 0.0 for index, count in enumerate(match.counts)),
            tuple(is_named and index in counted for index, is_named in enumerate(match.named)),
            match.n_words,
            self._weight(counted) or 1.0,
        )

    def _words_of(self, text: str) -> _TextWords:
        return _TextWords(text, words(text), self._extra.of(text))

    def _terms_in_words(self, text: _TextWords) -> set[int]:
        possible = self._possible_forms(text.text, self._forms)
        return {index for form, index, _ in possible if form in text.words or form in text.extra}

    def _share_of_typed(self, own: _TextWords, above: _TextWords) -> float:
        """Return the share of the information of the typed words that a passage or the text above it has."""
        if not self._typed:
            return 0.0
        in_passage = self._typed_in(own)
        if all(in_passage):
            return 1.0
        has = [in_text or in_names for in_text, in_names in zip(in_passage, self._typed_in(above), strict=True)]
        if all(has):
            return NAMED_LEVEL
        information = math.fsum(word.information for word in self._typed)
        matched = math.fsum(word.information for word, is_there in zip(self._typed, has, strict=True) if is_there)
        share = matched / information if information else 0.0
        has_rare = any(word.is_rare and is_there for word, is_there in zip(self._typed, has, strict=True))
        return _RARE_LEVEL + _PARTLY_RARE * share if has_rare else _PARTLY * share

    def _typed_in(self, text: _TextWords) -> list[bool]:
        """Return for each typed word whether it occurs in a text."""
        all_words = {*text.words, *text.extra}
        run = split_unspaced(text.text)[0].replace("\n", "")
        return [
            not word.forms.isdisjoint(all_words)
            or (bool(word.row) and bool(_count_row(text.words, word.row)))
            or (bool(run) and _is_in_run(word, run))
            for word in self._typed
        ]

    def _branch_score(self, match: TextMatch, branch: Iterable[int]) -> float:
        """Return how much of a branch a text has, and how often, between 0 and 1."""
        together = ((self._weights[at], match.counts[at] + _NAMED * match.named[at]) for at in branch)
        return math.fsum(w * n / (n + _SATURATION) for w, n in together) / (self._weight(branch) or 1.0)

    def _weight(self, terms: Iterable[int]) -> float:
        return math.fsum(self._weights[index] for index in terms)

    def terms_in(self, names: str) -> set[int]:
        """Return the terms that occur in a name or a path."""
        return self._terms_in_words(self._words_of(names)) if self._possible_forms(names, self._forms) else set()

    def _possible_forms(self, text: str, forms: Sequence[tuple[str, int, float]]) -> Sequence[tuple[str, int, float]]:
        """Drop the forms that cannot occur in a text because it does not have their letters, a fast check."""
        if not text.isascii():
            return forms
        lowered = text.lower()
        return [form for form in forms if form[0] in lowered]

    def share_of_name(self, name: str) -> float:
        """Return the share of a name that the query has, between 0 and 1."""
        if not self._possible_forms(name, self._forms):
            return 0.0
        all_words = {*words(name), *extra_words(name)}
        return len(all_words & self._known) / len(all_words) if all_words else 0.0

    def share_of_query(self, name: str) -> float:
        """Return the weight of the terms in a name, as a share of all terms."""
        return math.fsum(self._weights[index] for index in self.terms_in(name)) / self._total

    def frequency(self, match: TextMatch, *, usual_length: float) -> float:
        """Return bm25 of a passage as a share of the maximum that any text could reach."""
        if not any(match.counts) and not any(match.named):
            return 0.0
        k = _SATURATION * (1 - _SLOPE + _SLOPE * match.n_words / max(usual_length, 1.0))
        together = (count + _NAMED * is_named for count, is_named in zip(match.counts, match.named, strict=True))
        return (
            math.fsum(w * n / (n + k) for w, n in zip(self._weights, together, strict=True) if n) / match.total_weight
        )

    def coverage(self, match: TextMatch) -> float:
        """Return the weight of the terms that a passage or the text above it has at all, as a share of all terms."""
        return self._share(match, range(len(self._weights)))

    def names(self, match: TextMatch) -> float:
        """Return the weight of the query's names that a passage has, as a share of all terms."""
        return self._share(match, self._names)

    def evidence(self, match: TextMatch, *, frequency: float) -> float:
        """Return the strength of the keyword evidence for a passage, which depends less on query length than a share.

        A few of many words are chance where one of so many passages must have them: their information, in nats, is
        compared with the logarithm of the number of passages. Having all of them is no chance, however little
        information they have.
        """
        coverage = self.coverage(match)
        certainty = max(math.sqrt(coverage * match.total_weight / self._by_chance), coverage)
        return frequency * certainty

    def _share(self, match: TextMatch, terms: Iterable[int]) -> float:
        has = (index for index in terms if match.counts[index] or match.named[index])
        return self._weight(has) / match.total_weight

    @property
    def information(self) -> float:
        """The information of the terms, in nats: a term that occurs in every chunk has none."""
        of_branches = [[self._weight(branch) for branch in group] for group in self._branches]
        joined = frozenset[int]().union(*(branch for group in self._branches for branch in group))
        return math.fsum([*map(max, of_branches), self._weight(set(range(len(self._weights))) - joined)])


def _is_in_run(word: TypedWord, run: str) -> bool:
    """Whether a word occurs in a run of letters without spaces."""
    has_form = any(is_gram(form) and form in run for form in word.forms)
    return has_form or (bool(word.row) and all(map(is_gram, word.row)) and run_of(word.row) in run)


def _count_row(text_words: Sequence[str], row: tuple[str, ...]) -> int:
    count, at = 0, -1
    for _ in range(text_words.count(row[0])):
        at = text_words.index(row[0], at + 1)
        count += tuple(text_words[at : at + len(row)]) == row
    return count


_MIN_CHUNKS: Final = 20
_SLOPE: Final = 0.75
_SATURATION: Final = 1.2
"""The usual b and k1 of BM25 (Robertson and Zaragoza, 2009)."""

_VARIANT: Final = 0.6
_PART: Final = 0.5
_PARTLY: Final = 0.89
_RARE_LEVEL: Final = 0.92
"""The minimum level of a passage with a typed word that hardly any other has, even without the other words."""

_PARTLY_RARE: Final = 0.03
NAMED_LEVEL: Final = 0.96
"""The level of a passage with all typed words, some of which are only in the text above it."""

_NAMED: Final = 2.0
"""The weights of another form of a word relative to the typed one, of a part of a name relative to a whole word, and of
an occurrence in heading, title or path."""


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
"""The weight of each level for the only passage that reaches it; docs/ranking-results.md compares other values."""
