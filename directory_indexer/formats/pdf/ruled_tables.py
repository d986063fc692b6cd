"""Tables with ruling lines: each row of cells becomes one row of text, `| a | b |`.

Reading the lines of a page takes several times as long as reading its text, so only `convert` looks for tables.
PyMuPDF's own search for them takes 50 to 500 ms a page, and separates hyphens from their words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby, islice, pairwise, product
from statistics import mode
from typing import Any, Final, NamedTuple

from directory_indexer.formats.draft import row_line
from directory_indexer.formats.pdf.mupdf import MUPDF_ERRORS, pymupdf
from directory_indexer.formats.pdf.pages import Row, clean
from directory_indexer.formats.pdf.tables import join_row_cells

Segments = dict[float, list[tuple[float, float]]]
"""The start and end of parallel lines, by their distance from the edge of the page."""


def replace_ruled_tables(page: Any, rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows of a page with those inside tables replaced by table rows, and the cells of the others joined."""
    tables: list[Table] = []
    if rows:
        with suppress(*MUPDF_ERRORS):
            tables = find_ruled_tables(page)
    inside = [next((index for index, table in enumerate(tables) if table.contains(row)), None) for row in rows]
    whole: list[Row] = []
    written_tables: set[int] = set()
    for index, group in groupby(zip(inside, rows, strict=True), key=lambda pair: pair[0]):
        if index is None:
            whole += join_row_cells([row for _, row in group])
        elif index not in written_tables:
            written_tables.add(index)
            size = mode(row.size for row, other in zip(rows, inside, strict=True) if other == index)
            whole += tables[index].rows(size=size, block=_FIRST_BLOCK + index)
    return tuple(whole)


class Table(NamedTuple):
    """A table with lines at `xs` and `ys`, and the texts of its cells, row by row."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    texts: tuple[tuple[str, ...], ...]

    def contains(self, row: Row) -> bool:
        """Whether a row of the page stands in the table."""
        x, y = (row.left + row.right) / 2, (row.top + row.bottom) / 2
        return self.xs[0] <= x / _TENTHS <= self.xs[-1] and self.ys[0] <= y / _TENTHS <= self.ys[-1]

    def rows(self, *, size: int, block: int) -> Iterator[Row]:
        """Yield the rows that have text."""
        left, right = int(self.xs[0] * _TENTHS), int(self.xs[-1] * _TENTHS)
        for texts, (top, bottom) in zip(self.texts, pairwise(self.ys), strict=True):
            if any(texts):
                place = (left, int(top * _TENTHS), right, int(bottom * _TENTHS), size)
                yield Row(row_line(texts), *place, is_bold=False, block=block, is_ruled=True)


def find_ruled_tables(page: Any) -> list[Table]:
    """Return the tables of a page, from top to bottom."""
    horizontal, vertical = _lines_of(page)
    grids = list(islice(_grids(horizontal, vertical), _MAX_TABLES))
    words = page.get_text("words") if grids else []
    tables = (_table(xs, ys, horizontal, vertical, words) for xs, ys in grids)
    return sorted((table for table in tables if _is_table(table)), key=lambda table: table.ys[0])


def _lines_of(page: Any) -> tuple[Segments, Segments]:
    """Return the horizontal and the vertical lines of a page, among them the sides of boxes."""
    horizontal: Segments = defaultdict(list)
    vertical: Segments = defaultdict(list)
    items = (item for path in page.get_cdrawings() for item in path["items"])
    boxes = [box for item in items if (box := _box_of(item))]
    for left, top, right, bottom in boxes if len(boxes) <= _MAX_BOXES else ():
        if bottom - top <= _MAX_LINE_WIDTH:
            horizontal[(top + bottom) / 2].append((left, right))
        elif right - left <= _MAX_LINE_WIDTH:
            vertical[(left + right) / 2].append((top, bottom))
        else:
            for y in (top, bottom):
                horizontal[y].append((left, right))
            for x in (left, right):
                vertical[x].append((top, bottom))
    return _join_segments(horizontal), _join_segments(vertical)


def _box_of(item: Sequence[Any]) -> tuple[float, float, float, float] | None:
    """Return the box around a line or a rectangle; None for other drawings."""
    match item[0]:
        case "l":
            box = pymupdf.Rect(*item[1], *item[2])
        case "re":
            box = pymupdf.Rect(*item[1])
        case _:
            return None
    box.normalize()
    return box.x0, box.y0, box.x1, box.y1


def _join_segments(lines: Segments) -> Segments:
    """Return lines with those that nearly coincide joined, and the dashes of one; short ones are dropped."""
    joined: Segments = {}
    at = 0.0
    for place in sorted(lines):
        if not joined or place - at > _TOLERANCE:
            at = place
        joined.setdefault(at, []).extend(lines[place])
    whole = {
        at: [line for line in _merge_segments(parts) if line[1] - line[0] >= _MIN_LENGTH]
        for at, parts in joined.items()
    }
    return {at: parts for at, parts in whole.items() if parts}


def _merge_segments(parts: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    whole: list[tuple[float, float]] = []
    for start, end in sorted(parts):
        if whole and start - whole[-1][1] <= _TOLERANCE:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return whole


def _grids(horizontal: Segments, vertical: Segments) -> Iterator[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Yield the positions of the vertical and the horizontal lines of each grid: lines that cross each other."""
    lines = [(y, *part, True) for y, parts in horizontal.items() for part in parts]
    lines += [(x, *part, False) for x, parts in vertical.items() for part in parts]
    if len(lines) > _MAX_LINES:
        return
    remaining = set(range(len(lines)))
    while remaining:
        grid, new = set[int](), {remaining.pop()}
        while new:
            grid |= new
            remaining -= new
            new = {other for other in remaining if any(_cross(lines[index], lines[other]) for index in new)}
        ys, xs = (
            {lines[index][0] for index in grid if lines[index][3] is is_horizontal} for is_horizontal in (True, False)
        )
        if min(len(xs), len(ys)) >= _MIN_LINES and len(xs) * len(ys) <= _MAX_CELLS:
            yield tuple(sorted(xs)), tuple(sorted(ys))


def _cross(line: tuple[float, float, float, bool], other: tuple[float, float, float, bool]) -> bool:
    if line[3] is other[3]:
        return False
    return (
        other[1] - _TOLERANCE <= line[0] <= other[2] + _TOLERANCE
        and line[1] - _TOLERANCE <= other[0] <= line[2] + _TOLERANCE
    )


def _table(
    xs: tuple[float, ...], ys: tuple[float, ...], horizontal: Segments, vertical: Segments, words: Sequence[Any]
) -> Table:
    """Return the table of a grid; cells without a line between them are merged, with their text in the first."""
    first: dict[tuple[int, int], tuple[int, int]] = {}
    for row, column in product(range(len(ys) - 1), range(len(xs) - 1)):
        x, y = (xs[column] + xs[column + 1]) / 2, (ys[row] + ys[row + 1]) / 2
        is_open_left = column and not _has_line_at(vertical[xs[column]], y)
        is_open_above = row and not _has_line_at(horizontal[ys[row]], x)
        before = (row, column - 1) if is_open_left else (row - 1, column) if is_open_above else None
        first[row, column] = first[before] if before else (row, column)
    lines: defaultdict[tuple[int, int], dict[tuple[int, int], list[str]]] = defaultdict(dict)
    for left, top, right, bottom, word, block, line, *_ in words:
        row, column = bisect_right(ys, (top + bottom) / 2) - 1, bisect_right(xs, (left + right) / 2) - 1
        if place := first.get((row, column)):
            lines[place].setdefault((block, line), []).append(word)
    texts = {place: _text_of(of_cell.values()) for place, of_cell in lines.items()}
    rows = (tuple(texts.get((row, column), "") for column in range(len(xs) - 1)) for row in range(len(ys) - 1))
    return Table(xs, ys, tuple(rows))


def _has_line_at(parts: Sequence[tuple[float, float]], place: float) -> bool:
    return any(start <= place <= end for start, end in parts)


def _text_of(lines: Iterable[Sequence[str]]) -> str:
    """Join the lines of a cell; a hyphen at the end of a line stays, since it may belong to a number or a compound."""
    return clean(_LINE_BREAK.sub(r"\1", "\n".join(" ".join(words) for words in lines)))


def _is_table(table: Table) -> bool:
    """Whether rows have texts in several columns, unlike frames around text and the lines of a chart."""
    return sum(sum(map(bool, texts)) > 1 for texts in table.texts) >= _MIN_ROWS


_LINE_BREAK: Final = re.compile("(?:([-\u2010])|\u00ad)\n(?=\\w)")
_FIRST_BLOCK: Final = 2_000_000
_MAX_BOXES: Final = 50_000
_MAX_LINES: Final = 1_000
_MAX_CELLS: Final = 20_000
_MAX_TABLES: Final = 50
"""More grids on a page are a drawing; all words of the page are looked up in each of them."""

_MIN_LINES: Final = 3
_MIN_ROWS: Final = 2
_MIN_LENGTH: Final = 8
_MAX_LINE_WIDTH: Final = 3
_TOLERANCE: Final = 3
_TENTHS: Final = 10
