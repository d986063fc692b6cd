"""Rows of printed tables: MuPDF splits the cells of one row into several blocks when they stand apart.

Text on one baseline is joined if it is a label and the cells to its right: numbers, currency signs, dashes. Prose is
left alone, since its neighbour in another column is no cell; columns of prose drawn line by line, across all of them,
are separated.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from directory_indexer.extractors.pdf.pages import Row, side_by_side


def whole_rows(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return rows with labels and the cells to their right joined, each at the position of its first part."""
    are_cells = [_is_cell(row.text) for row in rows]
    if not any(are_cells):
        return tuple(rows)
    joined: dict[int, Row] = {}
    for line in _baselines(rows):
        for group in _groups(line, are_cells):
            joined[min(group)] = side_by_side([rows[index] for index in group])
    return tuple(joined[index] for index in sorted(joined))


def columns_apart(rows: Sequence[Row]) -> list[Row]:
    """Return rows with columns of prose that were drawn line by line put one after the other."""
    wordy = (all(cell.text.count(" ") >= _FEW_WORDS - 1 for cell in row.cells) for row in rows if row.cells)
    if sum(wordy) < _FEW_WORDY:
        return list(rows)
    apart: list[Row] = []
    lines: list[Row] = []
    for row in rows:
        if lines and not _goes_on(lines[-1], row):
            apart += _by_column(lines, _OF_COLUMNS + len(apart))
            lines = []
        lines.append(row)
    return apart + _by_column(lines, _OF_COLUMNS + len(apart))


def _goes_on(above: Row, below: Row) -> bool:
    """Whether two rows are lines of the same columns: as many cells, none of which spans a gap of the other."""
    if len(above.cells) < _FEW_COLUMNS or len(above.cells) != len(below.cells):
        return False
    is_next = 0 < below.top - above.top <= _MAX_LEADING * above.size and above.size == below.size
    gaps = zip(pairwise(above.cells), pairwise(below.cells), strict=True)
    return is_next and all(
        max(left.right, other_left.right) < min(right.left, other_right.left)
        for (left, right), (other_left, other_right) in gaps
    )


def _by_column(lines: Sequence[Row], block: int) -> list[Row]:
    columns = [[(row, row.cells[index]) for row in lines] for index in range(len(lines[0].cells))] if lines else []
    if len(lines) < _FEW_LINES or not all(_is_prose([cell.text for _, cell in column]) for column in columns):
        return list(lines)
    return [
        row._replace(text=cell.text, left=cell.left, right=cell.right, cells=(), block=block + index)
        for index, column in enumerate(columns)
        for row, cell in column
    ]


def _is_prose(texts: Sequence[str]) -> bool:
    """Whether the cells of a column are lines of sentences: a few words each, most of them beginning in lower case."""
    n_wordy = sum(len(text.split()) >= _FEW_WORDS for text in texts)
    n_going_on = sum(text[:1].islower() for text in texts)
    return n_wordy >= _MOST * len(texts) and 2 * n_going_on >= len(texts)


def _baselines(rows: Sequence[Row]) -> Iterator[list[int]]:
    """Yield the numbers of the rows on each baseline, from left to right."""
    by_height: defaultdict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_height[_middle(row) // _STEP].append(index)
    done: set[int] = set()
    for index, row in enumerate(rows):
        if index in done:
            continue
        step = _middle(row) // _STEP
        near = [other for at in (step - 1, step, step + 1) for other in by_height[at]]
        line = [index]
        if len(near) <= _MAX_NEAR:
            tolerance = max(_STEP, row.size // 4)
            line += [
                other_index
                for other_index in near
                if other_index != index and other_index not in done and _is_level(rows[other_index], row, tolerance)
            ]
        done.update(line)
        yield sorted(line, key=lambda other_index: rows[other_index].left)


def _groups(line: list[int], are_cells: Sequence[bool]) -> Iterator[list[int]]:
    group: list[int] = []
    for index in line:
        if group and not are_cells[index]:
            yield group
            group = []
        group.append(index)
    yield group


def _is_cell(text: str) -> bool:
    return len(text) <= _MAX_CELL and all(_CELL_WORD.fullmatch(word) for word in text.split())


def _is_level(row: Row, with_row: Row, tolerance: int) -> bool:
    overlaps = row.left < with_row.right and with_row.left < row.right
    return not overlaps and abs(_middle(row) - _middle(with_row)) <= tolerance


def _middle(row: Row) -> int:
    return (row.top + row.bottom) // 2


_FEW_COLUMNS: Final = 2
_FEW_LINES: Final = 4
_FEW_WORDY: Final = 2
"""If four of five lines are wordy in each of three columns, at least two are wordy in all of them."""

_FEW_WORDS: Final = 4
_MOST: Final = 0.8
_MAX_LEADING: Final = 2
_OF_COLUMNS: Final = 1_000_000
_STEP: Final = 12
_MAX_NEAR: Final = 200
_MAX_CELL: Final = 160
_SIGNS: Final = r"[$\u20ac\u00a3\u00a5%()\[\]\u2013\u2014*\u2020\u2021+/-]*"
_CELL_NUMBER: Final = r"(?:\d[\d.,:'/-]*|[nN]\.?/?[aAmM]\.?)?"
_UNIT: Final = r"(?:bps|bp|pts?|million|billion|mm|bn|[mMxX])?"
_CELL_WORD: Final = re.compile(rf"{_SIGNS}{_CELL_NUMBER}{_SIGNS}{_UNIT}")
