"""Position of a passage on a scanned page, found by its words among those that OCR recognised there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Final

from directory_indexer.relevance.evidence import Excerpt
from directory_indexer.scans import Box, Recognition, Scan, ScannedPassage, Word


def locate_on_page(scan: Scan, excerpt: Excerpt, recognition: Recognition | None) -> ScannedPassage:
    """Find the words of an excerpt on the recognised page."""
    words = [word for line in recognition.lines for word in line.words if word.box] if recognition else []
    positions = _word_positions(excerpt, words)
    marked = tuple(box for start, box in positions if any(first <= start < end for first, end in excerpt.marks))
    return ScannedPassage(scan.engine, scan.confidence or 0.0, _bounding_box(box for _, box in positions), marked)


def _word_positions(excerpt: Excerpt, words: list[Word]) -> list[tuple[int, Box]]:
    """Return the first characters of the words of an excerpt that occur on the page, with their boxes."""
    excerpt_words = list(_words(excerpt.text))[:_MAX_WORDS]
    on_page = [word.text.casefold() for word in words]
    n_times = Counter(on_page)
    matcher = SequenceMatcher(
        lambda word: n_times[word] > _MAX_OCCURRENCES, [text for _, text in excerpt_words], on_page, autojunk=False
    )
    positions: list[tuple[int, Box]] = []
    for start, at, size in matcher.get_matching_blocks():
        for (first, _), word in zip(excerpt_words[start : start + size], words[at : at + size], strict=True):
            if word.box:
                positions.append((first, word.box))
    return positions


def _words(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for word in text.split():
        start = text.index(word, start)
        yield start, word.casefold()
        start += len(word)


def _bounding_box(boxes: Iterable[Box]) -> Box | None:
    sides = list(zip(*boxes, strict=True))
    return Box(min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3])) if sides else None


_MAX_WORDS: Final = 400
_MAX_OCCURRENCES: Final = 20
"""More frequent words are only matched next to others: comparing all their positions took 13 s."""
