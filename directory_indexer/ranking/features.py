"""Keyword match of passages, measured on their texts.

SQLite's bm25() selects the candidates of the keyword list; the keyword match is the same for all candidates, whichever
list they come from, and does not depend on the other candidates.
"""

from __future__ import annotations

import math
import os.path
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.ranking.analyzer import (
    ExtraWords,
    extra_words,
    is_gram,
    join_grams,
    split_into_words,
    split_unspaced,
)
from directory_indexer.ranking.exactness import NO_WORDS, TextWords, TypedWords, count_row
from directory_indexer.ranking.markup import text_read_around_markup
from directory_indexer.ranking.plan import MatchPlan


class TextMatch(NamedTuple):
    """Occurrences of each term of a plan in a text; other forms of a word and parts of names count less.

    `named` says of each term whether it occurs in heading, title or path. Of branches joined by `OR`, only the one
    counts that the text has most of; `total_weight` is that of the terms that count. `coverage` is the weight of the
    terms that the passage or the text above it has at all, as a share of all terms. `typed` is the share of the query's
    information that occurs in the form that was typed, 1 only for all of it. `rare` are the typed words in the passage
    that hardly any other has.

    `weighted_counts` and `weighted_length` include the passages beside it, each by its share of the file.
    """

    counts: tuple[float, ...]
    named: tuple[bool, ...]
    n_words: int
    weighted_counts: tuple[float, ...]
    weighted_length: float
    total_weight: float = 0.0
    coverage: float = 0.0
    typed: float = 0.0
    rare: frozenset[str] = frozenset()


class _CountedText(NamedTuple):
    """The occurrences of each term in a passage, its length, and its parts as they were counted.

    `extra` is None where no term could be among the extra words.
    """

    counts: tuple[float, ...]
    n_words: int
    words: Sequence[str]
    extra: AbstractSet[str] | None
    runs: str


class _CountedNeighbour(NamedTuple):
    """The occurrences of each term in a text beside a passage, and its length."""

    counts: tuple[float, ...]
    n_words: int


_Form: TypeAlias = tuple[str, int, float]
"""A form of a term, the number of the term, and how much an occurrence counts."""


class _FormGroup(NamedTuple):
    """The forms of a term, and what all of them begin with."""

    beginning: str
    forms: tuple[_Form, ...]


def _group_forms_by_beginning(forms: Sequence[_Form]) -> list[_FormGroup]:
    """Group forms by their terms."""
    groups = (tuple(group) for _, group in groupby(forms, key=lambda form: form[1]))
    return [_FormGroup(os.path.commonprefix([form for form, _, _ in group]), group) for group in groups]


class Matcher:
    """A plan prepared for matching many passages."""

    def __init__(self, plan: MatchPlan) -> None:
        self._terms = _CountableTerms(plan)
        self._extra = self._terms.extra
        self._weights = plan.weights
        self._total = math.fsum(self._weights) or 1.0
        self._by_chance = math.log(max(plan.n_chunks, _MIN_CHUNKS) + 1)
        positions = {term.typed: index for index, term in enumerate(plan.terms)}
        self._branches = [
            [frozenset(positions[term] for term in branch if term in positions) for branch in group]
            for group in plan.branches
        ]
        names = {token for word in plan.query.words if word.is_name for token in (word.text, *word.tokens)}
        self._typed = TypedWords(plan.typed) if plan.typed else None
        self._names = [index for index, term in enumerate(plan.terms) if term.typed in names]
        self._rare_names = [index for index, term in enumerate(plan.terms) if term.typed in plan.rare_names]

    def match(self, text: str, *, names: str, beside: Sequence[str] = ()) -> TextMatch:
        """Count the terms in one passage; `names` is the text above it: heading, title, path.

        `beside` are the other passages of a short file: their words are evidence for each of its passages, too, as much
        as each is of the file. Lengths are weighted alike, as in BM25F (S. Robertson et al., Simple BM25 Extension to
        Multiple Weighted Fields, 2004); a passage of a longer file stands for itself.
        """
        if not beside and (match := self._match_without_words(text, names)):
            return match
        own = self._terms.count_passage(text)
        above = self._terms.words_of(names) if self._extra.may_occur(names) else NO_WORDS
        named = self._terms.terms_among(above, names) if above.words else frozenset[int]()
        typed, rare = 0.0, frozenset[str]()
        if self._typed:
            typed, rare = self._typed.match(self._terms.words_of_passage(text, own), above)
        are_named = tuple([index in named for index in range(len(own.counts))])
        weighted, length = own.counts, float(own.n_words)
        if beside:
            others, share = [self._terms.count_neighbour(other) for other in beside], 1 / (1 + len(beside))
            counts = zip(own.counts, *(other.counts for other in others), strict=True)
            weighted = tuple([first + share * math.fsum(rest) for first, *rest in counts])
            length += share * sum(other.n_words for other in others)
        coverage = self._share(own.counts, are_named, self._total)
        match = TextMatch(own.counts, are_named, own.n_words, weighted, length, self._total, coverage, typed, rare)
        return self._without_unmatched_branches(match) if self._branches else match

    def _match_without_words(self, text: str, names: str) -> TextMatch | None:
        """Return the match of a passage that has none of the words, like half of those that are near by meaning."""
        if self._extra.may_occur(f"{names}\n{text}"):
            return None
        words, counts = split_into_words(text), [0.0] * len(self._weights)
        self._terms.count_readings(text, counts)
        if any(counts) or any(count_row(words, row) for _, row in self._terms.rows):
            return None
        nothing = tuple(counts)
        return TextMatch(nothing, (False,) * len(counts), len(words), nothing, float(len(words)), self._total)

    def _without_unmatched_branches(self, match: TextMatch) -> TextMatch:
        """Drop the branches of `OR` other than the one that a text has most of: they do not apply to that text."""
        counted = set(range(len(self._weights)))
        for group in self._branches:
            met = max(
                group, key=lambda branch: (self._branch_score(match.counts, match.named, branch), self._weight(branch))
            )
            counted -= frozenset[int]().union(*group) - met
        counts, weighted = (
            tuple(count if index in counted else 0.0 for index, count in enumerate(all_counts))
            for all_counts in (match.counts, match.weighted_counts)
        )
        named = tuple(is_named and index in counted for index, is_named in enumerate(match.named))
        total = self._weight(counted) or 1.0
        return match._replace(
            counts=counts,
            named=named,
            weighted_counts=weighted,
            total_weight=total,
            coverage=self._share(counts, named, total),
        )

    def _branch_score(self, counts: Sequence[float], named: Sequence[bool], branch: Iterable[int]) -> float:
        """Return how much of a branch a text has, and how often, between 0 and 1."""
        together = ((self._weights[at], counts[at] + _NAMED * named[at]) for at in branch)
        return math.fsum(w * n / (n + _TERM_SATURATION) for w, n in together) / (self._weight(branch) or 1.0)

    def _weight(self, terms: Iterable[int]) -> float:
        return math.fsum([self._weights[index] for index in terms])

    def terms_in(self, names: str) -> AbstractSet[int]:
        """Return the terms that occur in a name or a path."""
        if not self._extra.may_occur(names):
            return frozenset()
        return self._terms.terms_among(self._terms.words_of(names), names)

    def share_of_name(self, name: str) -> float:
        """Return the share of a name that the query has, between 0 and 1."""
        if not _possible_forms(name, self._terms.groups):
            return 0.0
        all_words = {*split_into_words(name), *extra_words(name)}
        return len(all_words & self._terms.known) / len(all_words) if all_words else 0.0

    def share_of_query(self, name: str) -> float:
        """Return the weight of the terms in a name, as a share of all terms."""
        return self._weight(self.terms_in(name)) / self._total

    def frequency(self, match: TextMatch, *, usual_length: float) -> float:
        """Return bm25 of a passage as a share of the maximum that any text could reach."""
        k = _TERM_SATURATION * (
            1 - _LENGTH_NORMALISATION + _LENGTH_NORMALISATION * match.weighted_length / max(usual_length, 1.0)
        )
        terms = zip(match.weighted_counts, match.named, strict=True)
        together = [count + _NAMED * is_named for count, is_named in terms]
        return (
            math.fsum([w * n / (n + k) for w, n in zip(self._weights, together, strict=True) if n]) / match.total_weight
        )

    def names(self, match: TextMatch) -> float:
        """Return the weight of the query's names that a passage has, as a share of all terms."""
        has = [index for index in self._names if match.counts[index] or match.named[index]]
        return self._weight(has) / match.total_weight if has else 0.0

    def has_rare_name(self, match: TextMatch) -> bool:
        """Whether a passage has a name of the query that hardly any other has."""
        return any(match.counts[index] for index in self._rare_names)

    def evidence(self, match: TextMatch, *, frequency: float) -> float:
        """Return the strength of the keyword evidence for a passage, which depends less on query length than a share.

        A few of many words are chance where one of so many passages must have them: their information, in nats, is
        compared with the logarithm of the number of passages. Having all of them is no chance, however little
        information they have.
        """
        certainty = max(math.sqrt(match.coverage * match.total_weight / self._by_chance), match.coverage)
        return frequency * certainty

    def _share(self, counts: Sequence[float], named: Sequence[bool], total: float) -> float:
        terms = zip(self._weights, counts, named, strict=True)
        return math.fsum([weight for weight, count, is_named in terms if count or is_named]) / total

    @property
    def information(self) -> float:
        """The information of the terms, in nats: a term that occurs in every chunk has none."""
        of_branches = [[self._weight(branch) for branch in group] for group in self._branches]
        joined = frozenset[int]().union(*(branch for group in self._branches for branch in group))
        return math.fsum([*map(max, of_branches), self._weight(set(range(len(self._weights))) - joined)])


class _CountableTerms:
    """The terms of a plan prepared for counting in many texts."""

    def __init__(self, plan: MatchPlan) -> None:
        self._forms: list[_Form] = []
        self.rows: list[tuple[int, tuple[str, ...]]] = []
        for index, term in enumerate(plan.terms):
            self._forms += [
                (form, index, 1.0 if form == term.typed else _VARIANT_WEIGHT) for form in sorted(term.forms)
            ]
            self.rows += [(index, row) for row in term.rows]
        self._n_terms = len(plan.weights)
        self._grams = [(form, index) for form, index, _ in self._forms if is_gram(form)]
        self.groups = _group_forms_by_beginning(self._forms)
        self._spaced = _group_forms_by_beginning([form for form in self._forms if not is_gram(form[0])])
        self.known = frozenset(form for form, _, _ in self._forms)
        self._is_ascii = all(map(str.isascii, self.known))
        self.extra = ExtraWords(self.known.union(*(word.forms for word in plan.typed)))
        self._neighbours: dict[str, _CountedNeighbour] = {}
        self._split = cache(_split_text)
        self._all_words = cache(split_into_words)

    def count_passage(self, text: str) -> _CountedText:
        """Count the terms in a passage: its words, its extra words, and its words without markup."""
        runs, rest, rest_words = self._split(text)
        forms = _possible_forms(rest, self._spaced)
        extra = self.extra.of(text, rest_words) if forms else None
        counts = self._count_words(text, TextWords(rest_words, extra or frozenset(), runs), forms)
        self.count_readings(text, counts)
        return _CountedText(tuple(counts), _n_words(rest_words, runs), rest_words, extra, runs)

    def count_neighbour(self, text: str) -> _CountedNeighbour:
        """Count the terms in a text once for all passages beside it, without its readings of markup.

        Its extra words count only where points may stand in words: elsewhere they take more time than they improve.
        """
        if (counted := self._neighbours.get(text)) is None:
            runs, rest, words = self._split(text)
            forms = _possible_forms(rest, self._spaced)
            has_extra = bool(forms) and not (self._is_ascii or text.isascii())
            extra = self.extra.of(text, words) if has_extra else frozenset[str]()
            counts = self._count_words(text, TextWords(words, extra, runs), forms)
            counted = self._neighbours[text] = _CountedNeighbour(tuple(counts), _n_words(words, runs))
        return counted

    def _count_words(self, text: str, own: TextWords, forms: Sequence[_Form]) -> list[float]:
        """Count the terms among the words and extra words of a text, and n-grams in runs written without spaces."""
        words, extra, runs = own
        counts = [0.0] * self._n_terms
        for gram, index in self._grams if runs else ():
            counts[index] += runs.count(gram)
        if not text.isascii():
            all_words = {*words, *extra}
            forms = [form for form in forms if form[0] in all_words]
        for form, index, amount in forms:
            counts[index] += (words.count(form) + _PART_WEIGHT * (form in extra)) * amount
        for index, row in self.rows:
            if all(map(is_gram, row)):
                counts[index] += runs.count(join_grams(row))
            else:
                counts[index] += count_row(self._all_words(text) if runs else words, row)
        return counts

    def count_readings(self, text: str, counts: list[float]) -> None:
        """Count the terms that a text has only without its markup."""
        if all(counts) or not (plain_readings := text_read_around_markup(text)):
            return
        reading_words = split_into_words(plain_readings)
        for form, index, amount in self._forms:
            counts[index] = counts[index] or reading_words.count(form) * amount
        for index, row in self.rows:
            counts[index] = counts[index] or count_row(reading_words, row)

    def words_of(self, text: str) -> TextWords:
        """Return the words of a text, and its letters written without spaces."""
        words = split_into_words(text)
        return TextWords(words, self.extra.of(text, words), split_unspaced(text)[0].replace("\n", ""))

    def words_of_passage(self, text: str, own: _CountedText) -> TextWords:
        """Return the words of a passage that was counted, none if no word of the query can be among them."""
        if own.extra is None and not self.extra.may_occur(text):
            return NO_WORDS
        words = self._all_words(text) if own.runs else own.words
        extra = self.extra.of(text, words) if own.extra is None else own.extra
        return TextWords(words, extra, own.runs.replace("\n", ""))

    def terms_among(self, words: TextWords, names: str) -> AbstractSet[int]:
        """Return the terms among the words of a name or a path."""
        possible = _possible_forms(names, self.groups)
        all_words = {*words.words, *words.extra} if possible else ()
        return {index for form, index, _ in possible if form in all_words}


def _possible_forms(text: str, groups: Sequence[_FormGroup]) -> list[_Form]:
    """Drop the forms that cannot occur in a text because it does not have their letters, a fast check."""
    if not text.isascii():
        return [form for group in groups for form in group.forms]
    lowered = text.lower()
    return [form for beginning, forms in groups if beginning in lowered for form in forms if form[0] in lowered]


def _split_text(text: str) -> tuple[str, str, Sequence[str]]:
    """Return the letters of a text that are written without spaces, the rest, and its words."""
    runs, rest = split_unspaced(text)
    return runs, rest, split_into_words(rest)


def _n_words(words: Sequence[str], runs: str) -> int:
    """Return the number of words of a text, in which every letter of `runs` is one."""
    return len(words) + len(runs) - runs.count("\n")


_MIN_CHUNKS: Final = 20
_LENGTH_NORMALISATION: Final = 0.73
_TERM_SATURATION: Final = 1.2
"""b and k1 of BM25, near the usual .75 and 1.2 (Robertson and Zaragoza, 2009); docs/ranking-results.md has others."""

_VARIANT_WEIGHT: Final = 0.6
_PART_WEIGHT: Final = 0.5
_NAMED: Final = 2.0
"""The weights of another form of a word relative to the typed one, of a part of a name relative to a whole word, and of
an occurrence in heading, title or path."""
