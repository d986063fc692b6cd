"""How well the words of passages answer a query, measured on their texts.

SQLite's bm25() chooses the candidates of the list of words; this measure is the same for all candidates, whichever
list they come from, and does not depend on what else was found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from directory_indexer.relevance.analyzer import ExtraWords, extra_words, unspaced_apart, words
from directory_indexer.relevance.grams import is_gram, run_of
from directory_indexer.relevance.matchplan import MatchPlan, TypedWord
from directory_indexer.relevance.readings import readings


class TextMatch(NamedTuple):
    """How often each term of a plan occurs in a text, where other forms of a word and parts of names count less.

    `named` tells of each term whether it occurs in heading, title or path. Of what `OR` joins, only the branch counts
    that the text has most of; `asked` is what the terms weigh that do. `typed` is the share of what
    the query tells that stands there in the form that was typed, 1 only where all of it does.
    """

    counts: tuple[float, ...]
    named: tuple[bool, ...]
    n_words: int
    asked: float = 0.0
    typed: float = 0.0


class _TextWords(NamedTuple):
    """A text, its words in their order, and those of its extra words that a query may have."""

    text: str
    words: Sequence[str]
    extra: AbstractSet[str]


class Matcher:
    """A plan made ready to be held against many passages."""

    def __init__(self, plan: MatchPlan) -> None:
        self._forms: list[tuple[str, int, float]] = []
        self._rows: list[tuple[int, tuple[str, ...]]] = []
        for index, term in enumerate(plan.terms):
            self._forms += [(form, index, 1.0 if form == term.typed else _VARIANT) for form in sorted(term.forms)]
            self._rows += [(index, row) for row in term.rows]
        self._grams = [(form, index) for form, index, _ in self._forms if is_gram(form)]
        self._spaced = [one for one in self._forms if not is_gram(one[0])]
        self._known = frozenset(form for form, _, _ in self._forms)
        self._weights = plan.weights
        self._total = math.fsum(self._weights) or 1.0
        self._by_chance = math.log(max(plan.n_chunks, _FEWEST) + 1)
        places = {term.typed: index for index, term in enumerate(plan.terms)}
        self._branches = [
            [frozenset(places[one] for one in branch if one in places) for branch in group] for group in plan.branches
        ]
        names = {token for word in plan.query.words if word.is_name for token in (word.text, *word.tokens)}
        self._typed = plan.typed
        self._extra = ExtraWords(frozenset[str]().union(self._known, *(word.forms for word in plan.typed)))
        self._names = [index for index, term in enumerate(plan.terms) if term.typed in names]

    def match(self, text: str, *, names: str) -> TextMatch:
        """Count the terms in one passage; `names` is what stands above it: heading, title, path."""
        runs, rest = unspaced_apart(text)
        found = words(rest)
        counts = [0.0] * len(self._weights)
        for gram, index in self._grams if runs else ():
            counts[index] += runs.count(gram)
        possible = self._possible(rest, self._spaced)
        parts = self._extra.of(text)
        for form, index, amount in possible:
            counts[index] += (found.count(form) + _PART * (form in parts)) * amount
        for index, row in self._rows:
            if all(map(is_gram, row)):
                counts[index] += runs.count(run_of(row))
            else:
                counts[index] += _count_row(words(text) if runs else found, row)
        self._count_readings(text, counts)
        above = self._words_of(names)
        named = self._terms_among(above)
        n_words = len(found) + len(runs) - runs.count("\n")
        match = TextMatch(
            tuple(counts),
            tuple(index in named for index in range(len(counts))),
            n_words,
            self._total,
            typed=self._share_of_typed(_TextWords(text, found if text.isascii() else words(text), parts), above),
        )
        return self._without_unmet(match) if self._branches else match

    def _count_readings(self, text: str, counts: list[float]) -> None:
        """Count what a text has only where markup is not read."""
        if all(counts) or not (beside := readings(text)):
            return
        found = words(beside)
        for form, index, amount in self._forms:
            counts[index] = counts[index] or found.count(form) * amount
        for index, row in self._rows:
            counts[index] = counts[index] or _count_row(found, row)

    def _without_unmet(self, match: TextMatch) -> TextMatch:
        """Leave out what `OR` joins to the branch that a text has most of: it was not asked of that text."""
        counted = set(range(len(self._weights)))
        for group in self._branches:
            met = max(group, key=lambda branch: (self._met(match, branch), self._weight(branch)))
            counted -= frozenset[int]().union(*group) - met
        return TextMatch(
            tuple(count if index in counted else 0.0 for index, count in enumerate(match.counts)),
            tuple(is_named and index in counted for index, is_named in enumerate(match.named)),
            match.n_words,
            self._weight(counted) or 1.0,
        )

    def _words_of(self, text: str) -> _TextWords:
        return _TextWords(text, words(text), self._extra.of(text))

    def _terms_among(self, text: _TextWords) -> set[int]:
        possible = self._possible(text.text, self._forms)
        return {index for form, index, _ in possible if form in text.words or form in text.extra}

    def _share_of_typed(self, own: _TextWords, above: _TextWords) -> float:
        """Return how much of what the typed words tell a passage or what stands above it has."""
        if not self._typed:
            return 0.0
        in_passage = self._typed_in(own)
        if all(in_passage):
            return 1.0
        has = [in_text or in_names for in_text, in_names in zip(in_passage, self._typed_in(above), strict=True)]
        if all(has):
            return NAMED_LEVEL
        told = math.fsum(word.information for word in self._typed)
        held_of_it = math.fsum(word.information for word, is_there in zip(self._typed, has, strict=True) if is_there)
        share = held_of_it / told if told else 0.0
        has_rare = any(word.is_rare and is_there for word, is_there in zip(self._typed, has, strict=True))
        return _RARE_LEVEL + _PARTLY_RARE * share if has_rare else _PARTLY * share

    def _typed_in(self, text: _TextWords) -> list[bool]:
        """Return for each typed word whether it stands in a text."""
        all_words = {*text.words, *text.extra}
        run = unspaced_apart(text.text)[0].replace("\n", "")
        return [
            not word.forms.isdisjoint(all_words)
            or (bool(word.row) and bool(_count_row(text.words, word.row)))
            or (bool(run) and _is_in_run(word, run))
            for word in self._typed
        ]

    def _met(self, match: TextMatch, branch: Iterable[int]) -> float:
        """Tell how much of a branch a text has, and how often, between 0 and 1."""
        together = ((self._weights[at], match.counts[at] + _NAMED * match.named[at]) for at in branch)
        return math.fsum(w * n / (n + _SATURATION) for w, n in together) / (self._weight(branch) or 1.0)

    def _weight(self, terms: Iterable[int]) -> float:
        return math.fsum(self._weights[index] for index in terms)

    def terms_in(self, names: str) -> set[int]:
        """Return which terms occur in a name or a path."""
        return self._terms_among(self._words_of(names)) if self._possible(names, self._forms) else set()

    def _possible(self, text: str, forms: Sequence[tuple[str, int, float]]) -> Sequence[tuple[str, int, float]]:
        """Leave out the forms that are no word of a text because it does not have their letters, which is quick."""
        if not text.isascii():
            return forms
        lowered = text.lower()
        return [one for one in forms if one[0] in lowered]

    def share_of_name(self, name: str) -> float:
        """Tell how much of a name the query says, between 0 and 1."""
        if not self._possible(name, self._forms):
            return 0.0
        all_words = {*words(name), *extra_words(name)}
        return len(all_words & self._known) / len(all_words) if all_words else 0.0

    def share_of_query(self, name: str) -> float:
        """Weigh the terms that a name has, as a share of all terms."""
        return math.fsum(self._weights[index] for index in self.terms_in(name)) / self._total

    def frequency(self, match: TextMatch, *, usual_length: float) -> float:
        """Weigh what a passage has: bm25 as a share of the most that any text could reach."""
        if not any(match.counts) and not any(match.named):
            return 0.0
        k = _SATURATION * (1 - _SLOPE + _SLOPE * match.n_words / max(usual_length, 1.0))
        together = (count + _NAMED * is_named for count, is_named in zip(match.counts, match.named, strict=True))
        return math.fsum(w * n / (n + k) for w, n in zip(self._weights, together, strict=True) if n) / match.asked

    def coverage(self, match: TextMatch) -> float:
        """Weigh the terms that a passage or what stands above it has at all, as a share of all terms."""
        return self._share(match, range(len(self._weights)))

    def names(self, match: TextMatch) -> float:
        """Weigh the names in the query that a passage has, as a share of all terms: a rare one tells much."""
        return self._share(match, self._names)

    def evidence(self, match: TextMatch, *, frequency: float) -> float:
        """Tell how much words alone say for a passage, which falls less with the length of a question than a share.

        A few of many words are an accident where one of so many passages is bound to have them: what they tell, in
        nats, is held against the logarithm of the number of passages. What has all of them is no accident, however
        little they tell.
        """
        coverage = self.coverage(match)
        certainty = max(math.sqrt(coverage * match.asked / self._by_chance), coverage)
        return frequency * certainty

    def _share(self, match: TextMatch, terms: Iterable[int]) -> float:
        has = (index for index in terms if match.counts[index] or match.named[index])
        return self._weight(has) / match.asked

    @property
    def information(self) -> float:
        """How much the terms tell, in nats: one that occurs in every chunk says nothing."""
        of_branches = [[self._weight(branch) for branch in group] for group in self._branches]
        joined = frozenset[int]().union(*(branch for group in self._branches for branch in group))
        return math.fsum([*map(max, of_branches), self._weight(set(range(len(self._weights))) - joined)])


def _is_in_run(word: TypedWord, run: str) -> bool:
    """Whether a word stands in a run of letters without spaces."""
    has_form = any(is_gram(form) and form in run for form in word.forms)
    return has_form or (bool(word.row) and all(map(is_gram, word.row)) and run_of(word.row) in run)


def _count_row(found: Sequence[str], row: tuple[str, ...]) -> int:
    count, at = 0, -1
    for _ in range(found.count(row[0])):
        at = found.index(row[0], at + 1)
        count += tuple(found[at : at + len(row)]) == row
    return count


_FEWEST: Final = 20
_SLOPE: Final = 0.75
_SATURATION: Final = 1.2
"""The usual b and k1 of BM25 (Robertson and Zaragoza, 2009)."""

_VARIANT: Final = 0.6
_PART: Final = 0.5
_PARTLY: Final = 0.89
_RARE_LEVEL: Final = 0.92
"""What it counts at least that a passage has a typed word that hardly any has, be it without the others."""

_PARTLY_RARE: Final = 0.03
NAMED_LEVEL: Final = 0.96
"""What it counts that a passage has all typed words, but some only above it."""

_NAMED: Final = 2.0
"""What another form of a word counts beside the one that was typed, what a part of a name counts beside a whole word,
and what a heading, title or path that has the word adds."""
