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
_WORD = re.compile(r"\w+")
_PAGE_WORDS = frozenset(
    "page pages pag seite seiten página páginas pagina pagine blatt sheet slide folie strona".split()
)
_FEW_LETTERS = 3
_CLOSING = "\"')]}\u00bb\u201d\u2019\u203a\u300d\u300f\uff09"
_ENDS_SENTENCE = tuple(".!?:\u2026\u3002\uff01\uff1f\uff1a")
_ROMAN = "a page number in Roman digits"


class Cell(NamedTuple):
    """A part of a row that stands apart from the others."""

    left: int
    right: int
    text: str


class Row(NamedTuple):
    """One row of text as it is printed; rows of one block stand together, as the lines of a paragraph do.

    `cells` are its parts, where it has several. With `is_ruled` it is a row of a table with ruling lines.
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
    is_ruled: bool = False


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
    if not any(len(row.text) == 1 for row in rows):
        return list(rows)
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
    """The rows of one page, whose number counts from 1; `scan` tells of what has to be read on it, or was.

    `files` are the numbers of the annotations that files are attached to.
    """

    number: int
    height: int
    rows: tuple[Row, ...]
    scan: Scan | None = None
    files: tuple[int, ...] = ()


def body_size(pages: Iterable[Page]) -> int:
    """Find the size that most of the text is printed in."""
    sizes: Counter[int] = Counter()
    for page in pages:
        for row in page.rows:
            sizes[row.size] += len(row.text)
    return max(sizes, key=lambda size: (sizes[size], size), default=0)


def is_larger(row: Row, than: int) -> bool:
    """Whether a row is printed clearly larger than a size."""
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

    A text may be repeated because it is a header, or because slides build up: its first occurrence stays. Of what has a
    page number, the rest is compared.
    """
    edges = [edge for page in pages for edge in _edges(page)]
    repeats = _Repeats(edges, body_size(pages))
    running: defaultdict[int, _Running] = defaultdict(lambda: _Running(set(), set(), set()))
    seen = {""}
    for edge in edges:
        for row in repeats.running_rows(edge):
            text = repeats.without_page_number(row, edge.page)
            of_page = running[edge.page]
            (of_page.repeated if text in seen else of_page.feet if edge.is_foot else of_page.heads).add(row)
            seen.add(text)
    bodies = [running[page.number].body(page) if page.number in running else page.rows for page in pages]
    around = zip(pages, [(), *bodies], bodies, [*bodies[1:], ()], strict=False)
    return [
        replace(page, rows=_rows_around(page, running[page.number], *bodies_around)) if page.number in running else page
        for page, *bodies_around in around
    ]


class _Running(NamedTuple):
    """The running rows of a page: the first of their kind at its head and foot, and those that are repeated."""

    heads: set[Row]
    feet: set[Row]
    repeated: set[Row]

    def body(self, page: Page) -> tuple[Row, ...]:
        """Return the rows of the page without those of its head and foot."""
        rows = self.heads | self.feet | self.repeated
        return tuple(row for row in page.rows if row not in rows)


def _rows_around(
    page: Page, running: _Running, before: Sequence[Row], body: Sequence[Row], after: Sequence[Row]
) -> tuple[Row, ...]:
    """Return the rows that stay; heads and feet that part a sentence from the page before or after go to another end.

    `before` and `after` are the rows between head and foot of the neighbours, and `body` those of the page.
    """
    rows = [row for row in page.rows if row not in running.repeated]
    moves_heads = running.heads and _runs_on(before, body)
    moves_feet = running.feet and _runs_on(body, after)
    if not (moves_heads or moves_feet):
        return tuple(rows)
    ends = [index + 1 for index, row in enumerate(body) if ends_sentence(row.text)]
    heads_at = min(ends, default=len(body)) if moves_heads else 0
    feet_at = max(ends, default=0) if moves_feet else len(body)
    heads, feet = ([row for row in rows if row in moved] for moved in (running.heads, running.feet))
    heads_at = min(heads_at, feet_at)
    return (*body[:heads_at], *heads, *body[heads_at:feet_at], *feet, *body[feet_at:])


def _runs_on(above: Sequence[Row], below: Sequence[Row]) -> bool:
    """Whether a sentence does not end with a page."""
    return bool(above and below) and not ends_sentence(above[-1].text) and below[0].text[:1].islower()


def ends_sentence(text: str) -> bool:
    """Whether a row ends a sentence."""
    return text.rstrip(_CLOSING).endswith(_ENDS_SENTENCE)


class _Edge(NamedTuple):
    """The rows near the top or the bottom of a page, outermost first, and how far each is from the next one inside."""

    page: int
    rows: tuple[tuple[Row, int], ...]
    is_foot: bool


def _edges(page: Page) -> Iterator[_Edge]:
    margin = int(page.height * _MARGIN)
    rows = [row for row in page.rows if not row.is_ruled]
    down = sorted(rows, key=lambda row: row.top)
    up = sorted(rows, key=lambda row: -row.bottom)
    top = [(row, below.top - row.bottom) for row, below in pairwise(down) if row.bottom <= margin]
    bottom = [(row, row.top - above.bottom) for row, above in pairwise(up) if row.top >= page.height - margin]
    yield _Edge(page.number, tuple(top[:_EDGE_ROWS]), is_foot=False)
    yield _Edge(page.number, tuple(bottom[:_EDGE_ROWS]), is_foot=True)


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
        offset = self._offset(page)
        return offset in self._offsets_of(row, page) and _is_nearby(self._pages_by_offset[offset], page)

    def without_page_number(self, row: Row, page: int) -> str:
        """Return what a row says beside its page number; nothing where that is only the word for a page."""
        if not self.is_page_number(row, page):
            return row.text
        text = row.text
        for number in self._numbers_in(row):
            if int(number[1]) - page == self._offset(page):
                text = text[: number.start()] + text[number.end() :]
        words = [word for word in _WORD.findall(text) if word.casefold() not in _PAGE_WORDS]
        is_number_alone = sum(map(len, words)) < _FEW_LETTERS or _IS_ROMAN.fullmatch(row.text)
        return "" if is_number_alone else " ".join(text.split())

    def _offset(self, page: int) -> int | None:
        # Of the numbers that grow with the pages (footnotes may do so, too), those win that do so the longest.
        return max(self._offsets[page], key=lambda offset: len(self._pages_by_offset[offset]), default=None)

    def _offsets_of(self, row: Row, page: int) -> set[int]:
        return {int(number[1]) - page for number in self._numbers_in(row)}

    def _numbers_in(self, row: Row) -> list[re.Match[str]]:
        """Return the numbers at the end and at the start of a row that may be those of pages."""
        if len(row.text) > _MAX_NUMBER_ROW or (is_larger(row, self._body_size) and not row.text.isdecimal()):
            return []  # a paragraph, or a heading with its number
        return [number for number in (_LAST_NUMBER.search(row.text), _FIRST_NUMBER.match(row.text)) if number]


def _text(row: Row) -> str:
    return _ROMAN if _IS_ROMAN.fullmatch(row.text) else row.text


def _is_nearby(pages: set[int], page: int) -> bool:
    nearby = (page + distance for distance in range(-_NEIGHBOURHOOD, _NEIGHBOURHOOD + 1) if distance)
    return sum(other in pages for other in nearby) >= _REPEATS
