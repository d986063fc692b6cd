"""The text of all pages joined, so that a sentence that continues on the next page is one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from directory_indexer.formats.pdf.pages import IDEOGRAPHS, Page, Row, ends_sentence

_HYPHENS = "-\u2010\u00ad"
_MAX_SIZE_DIFFERENCE = 0.06
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}\uff0c\u3001\uff1b]")
_HYPHENATED_PREFIXES = frozenset({"all", "ex", "non", "quasi", "self", "well"})
"""First parts of English compounds: a hyphen after them does not split a word, or one also written without it."""

_CONJUNCTIONS = frozenset("und oder bzw sowie and och eller".split())
"""Words before which a hyphen stands for the rest of a compound, as in "Wasser- und Stromwerke"."""

_BROKEN_WORD = re.compile(rf"([^\W\d_]+)[{_HYPHENS}]$")


class PlacedRow(NamedTuple):
    """A row and the character at which it starts in the text."""

    start: int
    page: int
    row: Row


class Flow(NamedTuple):
    """The text of a document and the positions of its rows."""

    text: str
    rows: tuple[PlacedRow, ...]


def flow(pages: Sequence[Page]) -> Flow:
    """Join rows by a line feed and paragraphs by two; words hyphenated at the end of a row become whole."""
    lines = [_Line(page.number, row) for page in pages for row in page.rows]
    _join(lines)
    pieces: list[str] = []
    placed: list[PlacedRow] = []
    start = 0
    for line in lines:
        text = line.text.rstrip("\u00ad")
        if pieces and text:
            pieces.append(line.separator)
            start += len(line.separator)
        placed.append(PlacedRow(start, line.page, line.row))
        pieces.append(text)
        start += len(text)
    return Flow("".join(pieces), tuple(placed))


class _Line:
    """A row being joined: the text that remains of it, and the separator before it."""

    __slots__ = ("page", "row", "separator", "text")

    def __init__(self, page: int, row: Row) -> None:
        self.page = page
        self.row = row
        self.text = row.text
        self.separator = "\n\n"


def _join(lines: Sequence[_Line]) -> None:
    broken: list[tuple[_Line, _Line]] = []
    block_tops = _block_tops(lines)
    for previous, line in pairwise(lines):
        if _is_beside(previous, line, block_tops):
            line.separator = "\n"
        elif _continues(previous, line):
            line.separator = "\n"
            if previous.text[-1] in _HYPHENS and line.text[0].islower():
                broken.append((previous, line))
            elif _breaks_between_ideographs(previous.row, line.row):
                line.separator = ""
    vocabulary = _vocabulary(lines) if broken else frozenset()
    for previous, line in reversed(broken):  # a word part that was moved up may be moved up again
        _join_broken_word(previous, line, vocabulary)


def _block_tops(lines: Sequence[_Line]) -> dict[tuple[int, int], int]:
    tops: dict[tuple[int, int], int] = {}
    for line in lines:
        block = (line.page, line.row.block)
        tops[block] = min(line.row.top, tops.get(block, line.row.top))
    return tops


def _is_beside(previous: _Line, line: _Line, block_tops: Mapping[tuple[int, int], int]) -> bool:
    """Whether a line begins next to the block before it, as the next table cell does: that does not end the row."""
    above, below = previous.row, line.row
    if previous.page != line.page or above.block == below.block or below.left < above.right:
        return False
    if ends_sentence(above.text):  # a column of prose does, and a long cell
        return False
    return block_tops[previous.page, above.block] - below.size // 2 <= below.top < above.bottom - below.size // 2


def _continues(previous: _Line, line: _Line) -> bool:
    above, below = previous.row, line.row
    is_next_page = previous.page != line.page
    if not is_next_page and above.block == below.block:
        return True
    if above.is_ruled or below.is_ruled:
        return above.is_ruled and below.is_ruled and is_next_page
    if ends_sentence(above.text) or not _have_same_style(above, below):
        return False
    return is_next_page or below.bottom <= above.top or below.text[0].islower()


def _have_same_style(row: Row, other: Row) -> bool:
    return row.is_bold == other.is_bold and abs(row.size - other.size) <= _MAX_SIZE_DIFFERENCE * row.size


def _breaks_between_ideographs(above: Row, below: Row) -> bool:
    is_full = above.right >= below.right - above.size
    return is_full and bool(_IDEOGRAPH.match(above.text[-1]) and _IDEOGRAPH.match(below.text))


def _vocabulary(lines: Iterable[_Line]) -> frozenset[str]:
    return frozenset(_WORDS.findall("\n".join([line.row.text for line in lines]).casefold()))


def _join_broken_word(previous: _Line, line: _Line, vocabulary: frozenset[str]) -> None:
    head, tail = _BROKEN_WORD.search(previous.text), _FIRST_WORD.match(line.text)
    if head is None or tail is None:
        return
    whole, compound = (f"{head[1]}{hyphen}{tail[0]}".casefold() for hyphen in ("", "-"))
    if tail[0] in _CONJUNCTIONS and whole not in vocabulary:
        return
    is_compound = compound in vocabulary or head[1].casefold() in _HYPHENATED_PREFIXES
    hyphen = "-" if whole not in vocabulary and is_compound else ""
    rest = line.text.partition(" ")
    previous.text = previous.text[:-1] + hyphen + rest[0]
    line.text = rest[2]
