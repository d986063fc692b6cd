"""Which part of a passage is shown, and which words in it are marked."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from directory_indexer.relevance.analyzer import transliterated, words
from directory_indexer.relevance.definitions import definition_of, names_in
from directory_indexer.relevance.evidence import Excerpt
from directory_indexer.relevance.grams import GRAM_SIZES, UNSPACED, UNSPACED_MARKS, size_in
from directory_indexer.relevance.matchplan import MatchPlan


def excerpt(text: str, plan: MatchPlan, *, start_line: int, max_chars: int, line: int | None = None) -> Excerpt:
    """Cut the stretch of whole lines with the definition that is named, or that with most of what is looked for.

    When it holds nothing of either, it is the start. Lines too long for that are cut at white space. Where the query
    names a `line` of the text, that is shown instead.
    """
    found = list(_found(text, _numbers_of_forms(plan)))
    best = definition_of(names_in(plan.query), text) if line is None else _start_of_line(text, line - start_line)
    return _cut_out(_Passage(text, start_line, best), found, plan.weights, max_chars=max_chars)


def marks_in(text: str, plan: MatchPlan) -> tuple[tuple[int, int], ...]:
    """Find what stands for a word that is looked for, in the whole of a text."""
    return _merged((one.start, one.end) for one in _found(text, _numbers_of_forms(plan)))


def narrowed(excerpt: Excerpt, max_chars: int) -> Excerpt:
    """Cut an excerpt down to the stretch of it that holds most of the marked words; long words are the rarer ones.

    What it points at stays in it.
    """
    text, start_line, _, marks, best_line = excerpt
    words_marked = [text[start:end].casefold() for start, end in marks]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words_marked))}
    found = [_Found(*mark, numbers[word]) for mark, word in zip(marks, words_marked, strict=True)]
    best = None if best_line is None else _first_marked(text, best_line - start_line, found)
    weights = [len(word) for word in numbers]
    return _cut_out(_Passage(text, start_line, best), found, weights, max_chars=max_chars)


def _first_marked(text: str, n_lines: int, found: Sequence[_Found]) -> int:
    """Find what is marked in a line, which may be long, or else where the line begins."""
    start, end = _start_of_line(text, n_lines), _start_of_line(text, n_lines + 1)
    return next((one.start for one in found if start <= one.start < max(end, start + 1)), start)


class _Passage(NamedTuple):
    """A text, its first line, and the character that must be shown of it, if there is one."""

    text: str
    start_line: int
    best: int | None


class _Found(NamedTuple):
    """A stretch of text that stands for the term of this number."""

    start: int
    end: int
    term: int


def _cut_out(passage: _Passage, found: Sequence[_Found], weights: Sequence[float], *, max_chars: int) -> Excerpt:
    text, start_line, best = passage
    pieces = _pieces(text, max_chars)
    if best is None:
        start, end = _best_stretch(pieces, found, weights, max_chars)
    else:
        at = bisect_right([start for start, _ in pieces], best) - 1
        start, end = _stretch_around(pieces, at, at, max_chars)
    shown = text[start:end].rstrip()
    end = start + len(shown)
    inside = [one for one in found if start <= one.start and one.end <= end]
    best = _best_place(text, inside, weights) if best is None else best
    return Excerpt(
        text=shown,
        start_line=_line_at(text, start, start_line),
        end_line=_line_at(text, max(start, end - 1), start_line),
        marks=_merged((one.start - start, one.end - start) for one in inside),
        best_line=None if best is None else _line_at(text, best, start_line),
    )


def _line_at(text: str, at: int, first: int) -> int:
    return first + text.count("\n", 0, at)


def _start_of_line(text: str, n_lines: int) -> int:
    return sum(map(len, text.split("\n")[:n_lines])) + n_lines


def _best_place(text: str, found: Sequence[_Found], weights: Sequence[float]) -> int | None:
    """Find the line with the most telling words, each counted little more than once."""
    best, best_score = None, 0.0
    for _, line in groupby(found, key=lambda one: text.count("\n", 0, one.start)):
        places = list(line)
        held = Counter(one.term for one in places)
        score = math.fsum(weights[term] * (1 + _REPEATED * (n - 1)) for term, n in held.items())
        if score > best_score + _NOTICEABLE:
            best, best_score = places[0].start, score
    return best


def _numbers_of_forms(plan: MatchPlan) -> dict[str, int]:
    return {
        form: number
        for number, term in reversed(tuple(enumerate(plan.terms)))
        for form in (*term.forms, *(word for row in term.rows for word in row))
    }


def _found(text: str, numbers: Mapping[str, int]) -> Iterator[_Found]:
    """Find every word that stands for a term, in the order of the text."""
    known: dict[str, tuple[_Found, ...]] = {}
    for run in _RUN.finditer(text) if numbers else ():
        if (within := known.get(run[0])) is None:
            within = known[run[0]] = tuple(_in_run(run[0], numbers))
        for one in within:
            yield _Found(run.start() + one.start, run.start() + one.end, one.term)


def _in_run(run: str, numbers: Mapping[str, int]) -> Iterable[_Found]:
    if not run.isascii():
        return _in_unusual_run(run, numbers)
    if (number := numbers.get(run.lower())) is not None:
        return [_Found(0, len(run), number)]
    return [] if run.islower() and run.isalpha() else _in_parts(run, numbers)


def _in_unusual_run(run: str, numbers: Mapping[str, int]) -> Iterable[_Found]:
    if re.fullmatch(UNSPACED, run):
        return _in_grams(run, numbers, [size_in(run)])
    n_words, spellings = _spellings(run)
    if n_words > 1:
        return _in_grams(run, numbers, GRAM_SIZES)
    whole = [numbers[form] for form in spellings if form in numbers]
    return [_Found(0, len(run), whole[0])] if whole else _in_parts(run, numbers)


@lru_cache(maxsize=1 << 13)
def _spellings(run: str) -> tuple[int, tuple[str, ...]]:
    """Tell as how many words the index has a run of letters, and in which spellings, which takes 40 µs to find out."""
    found = words(run)
    return len(found), (*found, transliterated(run.casefold()))


def _in_parts(run: str, numbers: Mapping[str, int]) -> Iterator[_Found]:
    for part in _PART.finditer(run):
        if (number := numbers.get(part[0].lower())) is not None:
            yield _Found(*part.span(), number)


def _in_grams(run: str, numbers: Mapping[str, int], sizes: Iterable[int]) -> Iterator[_Found]:
    for size in sizes:
        for start in range(len(run)):
            if (number := numbers.get(run[start : start + size])) is not None:
                yield _Found(start, start + size, number)


def _pieces(text: str, max_chars: int) -> list[tuple[int, int]]:
    """Cut a text into its lines, and lines that would fill half an excerpt into parts that end with a word."""
    size = max(1, max_chars // 4)
    long_line = re.compile(rf"[^\n]{{{size},{2 * size}}}(?:\s|$)|[^\n]{{1,{2 * size}}}\n?|\n")
    return [found.span() for found in long_line.finditer(text)] or [(0, 0)]


def _best_stretch(
    pieces: Sequence[tuple[int, int]], found: Sequence[_Found], weights: Sequence[float], max_chars: int
) -> tuple[int, int]:
    """Slide over the pieces for the most telling words, each counted little more than once; then add what is around."""
    starts = [start for start, _ in pieces]
    inside: list[list[int]] = [[] for _ in pieces]
    for one in found:
        inside[bisect_right(starts, one.start) - 1].append(one.term)
    held: Counter[int] = Counter()
    best, best_score, first = (0, 0), 0.0, 0
    for last, (_, end) in enumerate(pieces):
        held.update(inside[last])
        while first < last and (not inside[first] or end - pieces[first][0] > max_chars):
            held.subtract(inside[first])
            first += 1
        score = math.fsum(weights[term] * (1 + _REPEATED * (n - 1)) for term, n in held.items() if n)
        if score > best_score + _NOTICEABLE:
            best, best_score = (first, last), score
    return _stretch_around(pieces, *best, max_chars)


def _stretch_around(pieces: Sequence[tuple[int, int]], first: int, last: int, max_chars: int) -> tuple[int, int]:
    first, last = _with_surroundings(pieces, first, last, max_chars)
    return pieces[first][0], pieces[last][1]


def _with_surroundings(pieces: Sequence[tuple[int, int]], first: int, last: int, max_chars: int) -> tuple[int, int]:
    """Widen a stretch while there is room: two lines after it for each line before it."""
    room = True
    while room:
        room = False
        for earlier, later in ((0, 1), (0, 1), (1, 0)):
            start, end = first - earlier, last + later
            if start >= 0 and end < len(pieces) and pieces[end][1] - pieces[start][0] <= max_chars:
                first, last, room = start, end, True
    return first, last


def _merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


_RUN: Final = re.compile(rf"[^\W_]+(?:[\u0300-\u036f\u064b-\u065f\u0900-\u0dff{UNSPACED_MARKS}]+[^\W_]*)*")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_REPEATED: Final = 0.05
_NOTICEABLE: Final = 1e-9
