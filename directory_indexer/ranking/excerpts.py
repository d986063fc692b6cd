"""Excerpts of passages, and the words that are marked in them."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from directory_indexer.ranking.analyzer import (
    GRAM_SIZES,
    UNSPACED,
    UNSPACED_MARKS,
    gram_size,
    split_into_words,
    transliterate_umlauts,
)
from directory_indexer.ranking.candidates import Excerpt
from directory_indexer.ranking.definitions import definition_form, names_in
from directory_indexer.ranking.plan import MatchPlan


class MarkedTerms:
    """The terms of a plan, prepared for the search in many texts."""

    def __init__(self, plan: MatchPlan) -> None:
        self.names = names_in(plan.query)
        self.weights = plan.weights
        self._numbers = {
            form: number
            for number, term in reversed(tuple(enumerate(plan.terms)))
            for form in (*term.forms, *(word for row in term.rows for word in row))
        }
        forms = [form for form in self._numbers if form.isascii()]
        # A run with a longer form has the shorter one, too.
        self._shortest = [form for form in forms if not any(other in form for other in forms if other != form)]
        self._spans: dict[str, tuple[_TermSpan, ...]] = {}

    def spans_in(self, text: str) -> Iterator[_TermSpan]:
        """Yield the span of every word of a text that matches a term, in text order."""
        if not self._numbers:
            return
        runs = self._possible_runs(text) if text.isascii() else (match.span() for match in _RUN.finditer(text))
        for start, end in runs:
            run = text[start:end]
            if (inner_spans := self._spans.get(run)) is None:
                inner_spans = self._spans[run] = tuple(_terms_in_run(run, self._numbers))
            for span in inner_spans:
                yield _TermSpan(start + span.start, start + span.end, span.term)

    def _possible_runs(self, text: str) -> list[tuple[int, int]]:
        """Return the runs of letters and digits that have the letters of a term, in a tenth of the time of all runs."""
        lowered = text.lower()
        runs: dict[int, int] = {}
        for form in self._shortest:
            start = lowered.find(form)
            while start >= 0:
                end = start + len(form)
                while start and lowered[start - 1].isalnum():
                    start -= 1
                while end < len(lowered) and lowered[end].isalnum():
                    end += 1
                runs[start] = end
                start = lowered.find(form, end)
        return sorted(runs.items())


def excerpt(text: str, terms: MarkedTerms, *, start_line: int, max_chars: int, line: int | None = None) -> Excerpt:
    """Cut the excerpt with the definition that the query names, else the one with most of its terms.

    Without either, it is the start of the text. An excerpt consists of whole lines; lines that are too long are cut at
    white space. If the query names a `line` of the text, that is included instead.
    """
    spans = list(terms.spans_in(text))
    best = definition_form(terms.names, text) if line is None else _start_of_line(text, line - start_line)
    return _cut_excerpt(_Passage(text, start_line, best), spans, terms.weights, max_chars=max_chars)


def marks_in(text: str, plan: MatchPlan) -> tuple[tuple[int, int], ...]:
    """Return the spans of all words that match a term, in the whole of a text."""
    return _merge_spans((span.start, span.end) for span in MarkedTerms(plan).spans_in(text))


def narrow_excerpt(excerpt: Excerpt, max_chars: int) -> Excerpt:
    """Cut an excerpt down to the part with most of the marked words; longer words count as rarer.

    Its best line remains in it.
    """
    text, start_line, _, marks, best_line = excerpt
    words_marked = [text[start:end].casefold() for start, end in marks]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words_marked))}
    spans = [_TermSpan(*mark, numbers[word]) for mark, word in zip(marks, words_marked, strict=True)]
    best = None if best_line is None else _first_marked(text, best_line - start_line, spans)
    weights = [len(word) for word in numbers]
    return _cut_excerpt(_Passage(text, start_line, best), spans, weights, max_chars=max_chars)


def _first_marked(text: str, n_lines: int, spans: Sequence[_TermSpan]) -> int:
    """Return the offset of the first mark in a line, which may be long, or else that of the line."""
    start, end = _start_of_line(text, n_lines), _start_of_line(text, n_lines + 1)
    return next((span.start for span in spans if start <= span.start < max(end, start + 1)), start)


class _Passage(NamedTuple):
    """A text, its first line, and the offset that its excerpt must include, if there is one."""

    text: str
    start_line: int
    best: int | None


class _TermSpan(NamedTuple):
    """A span of text that matches the term with this number."""

    start: int
    end: int
    term: int


def _cut_excerpt(passage: _Passage, spans: Sequence[_TermSpan], weights: Sequence[float], *, max_chars: int) -> Excerpt:
    text, start_line, best = passage
    pieces = _split_into_pieces(text, max_chars)
    if best is None:
        start, end = _best_window(pieces, spans, weights, max_chars)
    else:
        at = bisect_right([start for start, _ in pieces], best) - 1
        start, end = _window_around(pieces, at, at, max_chars)
    excerpt = text[start:end].rstrip()
    end = start + len(excerpt)
    inner_spans = [span for span in spans if start <= span.start and span.end <= end]
    best = _offset_of_best_line(text, inner_spans, weights) if best is None else best
    return Excerpt(
        text=excerpt,
        start_line=_line_at(text, start, start_line),
        end_line=_line_at(text, max(start, end - 1), start_line),
        marks=_merge_spans((span.start - start, span.end - start) for span in inner_spans),
        best_line=None if best is None else _line_at(text, best, start_line),
    )


def _line_at(text: str, at: int, first: int) -> int:
    return first + text.count("\n", 0, at)


def _start_of_line(text: str, n_lines: int) -> int:
    return sum(map(len, text.split("\n")[:n_lines])) + n_lines


def _offset_of_best_line(text: str, spans: Sequence[_TermSpan], weights: Sequence[float]) -> int | None:
    """Return the offset of the line with the highest weight of terms, each counted little more than once."""
    best, best_score = None, 0.0
    line_ends = [match.start() for match in re.finditer("\n", text)]
    for _, group in groupby(spans, key=lambda span: bisect_left(line_ends, span.start)):
        line_spans = list(group)
        n_times: dict[int, int] = {}
        for span in line_spans:
            n_times[span.term] = n_times.get(span.term, 0) + 1
        score = _weight_of(n_times, weights)
        if score > best_score + _MIN_WEIGHT_DIFFERENCE:
            best, best_score = line_spans[0].start, score
    return best


def _weight_of(n_times: Mapping[int, int], weights: Sequence[float]) -> float:
    """Return the weight of terms, each of which counts little more if it occurs more often."""
    return math.fsum([weights[term] * (1 + _REPEATED * (n - 1)) for term, n in n_times.items() if n])


def _terms_in_run(run: str, numbers: Mapping[str, int]) -> Iterable[_TermSpan]:
    if not run.isascii():
        return _terms_in_unusual_run(run, numbers)
    if (number := numbers.get(run.lower())) is not None:
        return [_TermSpan(0, len(run), number)]
    return [] if run.islower() and run.isalpha() else _terms_in_parts(run, numbers)


def _terms_in_unusual_run(run: str, numbers: Mapping[str, int]) -> Iterable[_TermSpan]:
    if re.fullmatch(UNSPACED, run):
        return _terms_in_grams(run, numbers, [gram_size(run)])
    n_words, spellings = _spellings(run)
    if n_words > 1:
        return _terms_in_grams(run, numbers, GRAM_SIZES)
    whole = [numbers[form] for form in spellings if form in numbers]
    return [_TermSpan(0, len(run), whole[0])] if whole else _terms_in_parts(run, numbers)


@lru_cache(maxsize=1 << 13)
def _spellings(run: str) -> tuple[int, tuple[str, ...]]:
    """Return the number of index words in a run, and their spellings, which takes 40 µs to compute."""
    run_words = split_into_words(run)
    return len(run_words), (*run_words, transliterate_umlauts(run.casefold()))


def _terms_in_parts(run: str, numbers: Mapping[str, int]) -> Iterator[_TermSpan]:
    for part in _PART.finditer(run):
        if (number := numbers.get(part[0].lower())) is not None:
            yield _TermSpan(*part.span(), number)


def _terms_in_grams(run: str, numbers: Mapping[str, int], sizes: Iterable[int]) -> Iterator[_TermSpan]:
    for size in sizes:
        for start in range(len(run)):
            if (number := numbers.get(run[start : start + size])) is not None:
                yield _TermSpan(start, start + size, number)


def _split_into_pieces(text: str, max_chars: int) -> list[tuple[int, int]]:
    """Split a text into lines, and lines that would fill half an excerpt into parts that end with a word."""
    size = max(1, max_chars // 4)
    pieces, start = [], 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        if end - start > 2 * size + text.endswith("\n", start, end):
            blanks = [match.end() for match in _BLANK.finditer(text, start + size, start + 2 * size + 1)]
            end = blanks[-1] if blanks else start + 2 * size
        pieces.append((start, end))
        start = end
    return pieces or [(0, 0)]


def _best_window(
    pieces: Sequence[tuple[int, int]], spans: Sequence[_TermSpan], weights: Sequence[float], max_chars: int
) -> tuple[int, int]:
    """Slide a window over the pieces for the highest weight of terms, then add what surrounds it."""
    starts = [start for start, _ in pieces]
    inside: list[list[int]] = [[] for _ in pieces]
    for span in spans:
        inside[bisect_right(starts, span.start) - 1].append(span.term)
    # A counter would take twice the time.
    n_times = dict.fromkeys((span.term for span in spans), 0)
    best, best_score, first = (0, 0), 0.0, 0
    for last, (_, end) in enumerate(pieces):
        for term in inside[last]:
            n_times[term] += 1
        while first < last and (not inside[first] or end - pieces[first][0] > max_chars):
            for term in inside[first]:
                n_times[term] -= 1
            first += 1
        if inside[last] and (score := _weight_of(n_times, weights)) > best_score + _MIN_WEIGHT_DIFFERENCE:
            best, best_score = (first, last), score
    return _window_around(pieces, *best, max_chars)


def _window_around(pieces: Sequence[tuple[int, int]], first: int, last: int, max_chars: int) -> tuple[int, int]:
    first, last = _with_surroundings(pieces, first, last, max_chars)
    return pieces[first][0], pieces[last][1]


def _with_surroundings(pieces: Sequence[tuple[int, int]], first: int, last: int, max_chars: int) -> tuple[int, int]:
    """Widen a window while there is room: two lines after it for each line before it."""
    room = True
    while room:
        room = False
        for earlier, later in ((0, 1), (0, 1), (1, 0)):
            start, end = first - earlier, last + later
            if start >= 0 and end < len(pieces) and pieces[end][1] - pieces[start][0] <= max_chars:
                first, last, room = start, end, True
    return first, last


def _merge_spans(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


_RUN: Final = re.compile(rf"[^\W_]+(?:[\u0300-\u036f\u064b-\u065f\u0900-\u0dff{UNSPACED_MARKS}]+[^\W_]*)*")
_BLANK: Final = re.compile(r"\s")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_REPEATED: Final = 0.05
_MIN_WEIGHT_DIFFERENCE: Final = 1e-9
