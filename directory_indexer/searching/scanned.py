"""Where on a scanned page a passage stands: found by its words among those that OCR has read there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Final

from directory_indexer.relevance.evidence import Excerpt
from directory_indexer.scans import Box, Recognition, Scan, ScannedPassage, Word


def scanned_passage(scan: Scan, excerpt: Excerpt, found: Recognition | None) -> ScannedPassage:
    """Find the words of an excerpt on the page that was read."""
    words = [word for line in found.lines for word in line.words if word.box] if found else []
    places = _places(excerpt, words)
    marked = tuple(box for start, box in places if any(first <= start < end for first, end in excerpt.marks))
    return ScannedPassage(scan.engine, scan.confidence or 0.0, _around(box for _, box in places), marked)


def _places(excerpt: Excerpt, words: list[Word]) -> list[tuple[int, Box]]:
    """Give the first characters of the words of an excerpt that stand on the page, and where."""
    looked_for = list(_words(excerpt.text))[:_MOST_WORDS]
    on_page = [word.text.casefold() for word in words]
    n_times = Counter(on_page)
    matcher = SequenceMatcher(
        lambda word: n_times[word] > _MOST_TIMES, [text for _, text in looked_for], on_page, autojunk=False
    )
    found: list[tuple[int, Box]] = []
    for start, at, size in matcher.get_matching_blocks():
        for (first, _), word in zip(looked_for[start : start + size], words[at : at + size], strict=True):
            if word.box:
                found.append((first, word.box))
    return found


def _words(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for word in text.split():
        start = text.index(word, start)
        yield start, word.casefold()
        start += len(word)


def _around(boxes: Iterable[Box]) -> Box | None:
    sides = list(zip(*boxes, strict=True))
    return Box(min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3])) if sides else None


_MOST_WORDS: Final = 400
_MOST_TIMES: Final = 20
"""What a page has more often is matched beside other words alone: comparing all places of it took 13 s."""
