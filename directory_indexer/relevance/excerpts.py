"""Which part of a passage is shown, and which words in it are marked."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from directory_indexer.relevance.analyzer import transliterated, words
from directory_indexer.relevance.evidence import Excerpt
from directory_indexer.relevance.grams import GRAM_SIZES, UNSPACED, UNSPACED_MARKS, size_in
from directory_indexer.relevance.matchplan import MatchPlan


def excerpt(text: str, plan: MatchPlan, *, start_line: int, max_chars: int) -> Excerpt:
    """Cut the stretch of whole lines that holds most of what is looked for; the start when it holds nothing.

    Lines too long for that are cut at white space.
    """
    found = list(_found(text, _numbers_of_forms(plan)))
    return _cut_out(text, found, plan.weights, start_line=start_line, max_chars=max_chars)


def narrowed(excerpt: Excerpt, max_chars: int) -> Excerpt:
    """Cut an excerpt down to the stretch of it that holds most of the marked words; long words are the rarer ones."""
    text, start_line, _, marks = excerpt
    words_marked = [text[start:end].casefold() for start, end in marks]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words_marked))}
    found = [_Found(*mark, numbers[word]) for mark, word in zip(marks, words_marked, strict=True)]
    return _cut_out(text, found, [len(word) for word in numbers], start_line=start_line, max_chars=max_chars)


class _Found(NamedTuple):
    """A stretch of text that stands for the term of this number."""

    start: int
    end: int
    term: int


def _cut_out(
    text: str, found: Sequence[_Found], weights: Sequence[float], *, start_line: int, max_chars: int
) -> Excerpt:
    start, end = _best_stretch(_pieces(text, max_chars), found, weights, max_chars)
    shown = text[start:end].rstrip()
    end = start + len(shown)
    line_starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    return Excerpt(
        text=shown,
        start_line=start_line + bisect_right(line_starts, start) - 1,
        end_line=start_line + bisect_right(line_starts, max(start, end - 1)) - 1,
        marks=_merged((one.start - start, one.end - start) for one in found if start <= one.start and one.end <= end),
    )


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
    if run.isascii() and run.isalpha() and run.islower():  # most words: they are what they are looked up by
        return [_Found(0, len(run), numbers[run])] if run in numbers else []
    return _in_unusual_run(run, numbers)


def _in_unusual_run(run: str, numbers: Mapping[str, int]) -> Iterator[_Found]:
    if re.fullmatch(UNSPACED, run):
        yield from _grams_in(run, numbers, [size_in(run)])
        return
    tokens = words(run)
    whole = [form for form in (*tokens, transliterated(run.casefold())) if form in numbers]
    if len(tokens) == 1 and whole:
        yield _Found(0, len(run), numbers[whole[0]])
    elif len(tokens) > 1:
        yield from _grams_in(run, numbers, GRAM_SIZES)
    else:
        for part in _PART.finditer(run):
            if (number := numbers.get(part[0].lower())) is not None:
                yield _Found(*part.span(), number)


def _grams_in(run: str, numbers: Mapping[str, int], sizes: Iterable[int]) -> Iterator[_Found]:
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
    first, last = _with_surroundings(pieces, *best, max_chars)
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
