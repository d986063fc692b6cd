"""What stands on the pages of a printed document: rows of text with their place and look, in the order of reading.

Lengths are tenths of a point, counted from the upper left corner.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from directory_indexer.scans import Scan

_MARGIN = 0.2
_EDGE_ROWS = 16
_NEIGHBOURHOOD = 4
_REPEATS = 2
_MAX_RUNS = 100
_LARGER = 1.15
_GAP = 0.7
_INITIAL = 1.8
_WORD_GAP = 0.2
_WORDS_OF_ONE_LETTER = frozenset("AIOEYÀ")
_MAX_NUMBER_ROW = 100
_FIRST_NUMBER = re.compile(r"[-\u2013\u2014|\s]*(\d{1,5})(?=[-\u2013\u2014|\s]|$)")
_LAST_NUMBER = re.compile(
    r"(?:^|[-\u2013\u2014|\s])(\d{1,5})(?:\s?(?:/|of|von|de|sur|di)\s?\d{1,5})?[-\u2013\u2014|\s]*$"
)
_IS_ROMAN = re.compile(r"[^\w]{0,3}[ivxlc]{1,8}[^\w]{0,3}", re.IGNORECASE)
_ROMAN = "a page number in Roman digits"


class Cell(NamedTuple):
    """A part of a row that stands apart from the others."""

    left: int
    right: int
    text: str


class Row(NamedTuple):
    """One row of text as it is printed; rows of one block stand together, as the lines of a paragraph do.

    `cells` are its parts, where it has several.
    """

    text: str
    left: int
    top: int
    right: int
    bottom: int
    size: int
    is_bold: bool
    block: int
    cells: tuple[Cell, ...] = ()


def side_by_side(rows: Sequence[Row]) -> Row:
    """Make one row of several that stand beside each other, from left to right."""
    if len(rows) == 1:
        return rows[0]
    return rows[0]._replace(
        text=" ".join(row.text for row in rows),
        left=min(row.left for row in rows),
        top=min(row.top for row in rows),
        right=max(row.right for row in rows),
        bottom=max(row.bottom for row in rows),
        cells=tuple(cell for row in rows for cell in row.cells or (Cell(row.left, row.right, row.text),)),
    )


def with_initials(rows: Sequence[Row]) -> list[Row]:
    """Put a large first letter, which is printed over several lines, before the first of the lines beside it."""
    joined: list[Row] = []
    for row in rows:
        letter = joined[-1] if joined else None
        if letter and _is_initial(letter, row):
            space = (
                " " if letter.text in _WORDS_OF_ONE_LETTER and row.left - letter.right > row.size * _WORD_GAP else ""
            )
            joined[-1] = row._replace(text=letter.text + space + row.text, left=letter.left)
        else:
            joined.append(row)
    return joined


def _is_initial(letter: Row, row: Row) -> bool:
    if len(letter.text) != 1 or not letter.text.isupper() or letter.size < row.size * _INITIAL:
        return False
    is_beside = (
        letter.top - row.size <= row.top < row.bottom <= letter.bottom and 0 <= row.left - letter.right < row.size
    )
    return is_beside and row.text[:1].isalpha()


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of one page, whose number counts from 1; `scan` tells of what has to be read on it, or was."""

    number: int
    height: int
    rows: tuple[Row, ...]
    scan: Scan | None = None


def body_size(pages: Iterable[Page]) -> int:
    """Find the size that most of the text is printed in."""
    sizes: Counter[int] = Counter()
    for page in pages:
        for row in page.rows:
            sizes[row.size] += len(row.text)
    return max(sizes, key=lambda size: (sizes[size], size), default=0)


def is_larger(row: Row, than: int) -> bool:
    """Tell whether a row is printed clearly larger than a size."""
    return row.size >= than * _LARGER


def in_reading_order(page: Page) -> Page:
    """Bring stretches that were drawn late to the place where they stand.

    Programs draw text in the order of reading with few exceptions (of 22,000 pages looked at, one in thirteen has one,
    mostly a header), and sorting by position would mix columns. So only a stretch that stands wholly above another one
    is moved before it.
    """
    stretches: list[list[Row]] = []
    for row in page.rows:
        if stretches and _follows(stretches[-1][-1], row):
            stretches[-1].append(row)
        else:
            stretches.append([row])
    if not 1 < len(stretches) <= _MAX_RUNS:
        return page
    ordered: list[list[Row]] = []
    for stretch in stretches:
        bottom = max(row.bottom for row in stretch)
        place = len(ordered)
        while place and all(bottom <= row.top + row.size // 2 for row in ordered[place - 1]):
            place -= 1
        ordered.insert(place, stretch)
    return replace(page, rows=tuple(row for stretch in ordered for row in stretch))


def _follows(previous: Row, row: Row) -> bool:
    return row.bottom > previous.top or row.left >= previous.right


def without_running_rows(pages: Sequence[Page]) -> list[Page]:
    """Leave out the headers, footers and page numbers that are repeated from page to page.

    A text may be repeated because it is a header, or because slides build up: its first occurrence stays.
    """
    edges = [edge for page in pages for edge in _edges(page)]
    repeats = _Repeats(edges, body_size(pages))
    running: defaultdict[int, set[Row]] = defaultdict(set)
    seen: set[str] = set()
    for edge in edges:
        for row in repeats.running_rows(edge):
            if row.text in seen or repeats.is_page_number(row, edge.page):
                running[edge.page].add(row)
            seen.add(row.text)
    return [replace(page, rows=tuple(row for row in page.rows if row not in running[page.number])) for page in pages]


class _Edge(NamedTuple):
    """The rows near the top or the bottom of a page, outermost first, and how far each is from the next one inside."""

    page: int
    rows: tuple[tuple[Row, int], ...]


def _edges(page: Page) -> Iterator[_Edge]:
    margin = int(page.height * _MARGIN)
    down = sorted(page.rows, key=lambda row: row.top)
    up = sorted(page.rows, key=lambda row: -row.bottom)
    top = [(row, below.top - row.bottom) for row, below in pairwise(down) if row.bottom <= margin]
    bottom = [(row, row.top - above.bottom) for row, above in pairwise(up) if row.top >= page.height - margin]
    yield _Edge(page.number, tuple(top[:_EDGE_ROWS]))
    yield _Edge(page.number, tuple(bottom[:_EDGE_ROWS]))


class _Repeats:
    """On which pages each text stands at an edge, and how far the page numbers are from those that are printed there.

    What is repeated nearby counts, for each chapter may have its own header.
    """

    def __init__(self, edges: Sequence[_Edge], body_size: int) -> None:
        self._body_size = body_size
        self._pages_by_text: defaultdict[str, set[int]] = defaultdict(set)
        self._pages_by_offset: defaultdict[int, set[int]] = defaultdict(set)
        self._offsets: defaultdict[int, set[int]] = defaultdict(set)
        for edge in edges:
            for row, _ in edge.rows:
                self._pages_by_text[_text(row)].add(edge.page)
                for offset in self._offsets_of(row, edge.page):
                    self._pages_by_offset[offset].add(edge.page)
                    self._offsets[edge.page].add(offset)

    def running_rows(self, edge: _Edge) -> list[Row]:
        """List the outermost rows that are repeated, as far as white space sets them off from the text."""
        n_running = 0
        for index, (row, gap) in enumerate(edge.rows):
            if not (_is_nearby(self._pages_by_text[_text(row)], edge.page) or self.is_page_number(row, edge.page)):
                break
            if gap >= row.size * _GAP:
                n_running = index + 1
        return [row for row, _ in edge.rows[:n_running]]

    def is_page_number(self, row: Row, page: int) -> bool:
        if _IS_ROMAN.fullmatch(row.text):
            return True
        # Of the numbers that grow with the pages (footnotes may do so, too), those win that do so the longest.
        offset = max(self._offsets[page], key=lambda offset: len(self._pages_by_offset[offset]), default=None)
        return offset in self._offsets_of(row, page) and _is_nearby(self._pages_by_offset[offset], page)

    def _offsets_of(self, row: Row, page: int) -> set[int]:
        if len(row.text) > _MAX_NUMBER_ROW or (is_larger(row, self._body_size) and not row.text.isdecimal()):
            return set()  # a paragraph, or a heading with its number
        numbers = (_FIRST_NUMBER.match(row.text), _LAST_NUMBER.search(row.text))
        return {int(number[1]) - page for number in numbers if number}


def _text(row: Row) -> str:
    return _ROMAN if _IS_ROMAN.fullmatch(row.text) else row.text


def _is_nearby(pages: set[int], page: int) -> bool:
    nearby = (page + distance for distance in range(-_NEIGHBOURHOOD, _NEIGHBOURHOOD + 1) if distance)
    return sum(other in pages for other in nearby) >= _REPEATS
