"""Makes the rows of printed tables whole: MuPDF puts the cells of one row into several blocks when they stand apart.

What stands on one baseline belongs together where it is a label and the cells to its right: numbers, signs of money,
dashes. Prose stays as it is, for what stands beside it in another column is no cell.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from directory_indexer.extractors.pdf.pages import Row, side_by_side


def whole_rows(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Join labels with the cells to their right, each where the first of them was read."""
    are_cells = [_is_cell(row.text) for row in rows]
    if not any(are_cells):
        return tuple(rows)
    joined: dict[int, Row] = {}
    for line in _baselines(rows):
        for group in _groups(line, are_cells):
            joined[min(group)] = side_by_side([rows[index] for index in group])
    return tuple(joined[index] for index in sorted(joined))


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
            line += [one for one in near if one != index and one not in done and _is_level(rows[one], row, tolerance)]
        done.update(line)
        yield sorted(line, key=lambda one: rows[one].left)


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


_STEP: Final = 12
_MAX_NEAR: Final = 200
_MAX_CELL: Final = 160
_SIGNS: Final = r"[$\u20ac\u00a3\u00a5%()\[\]\u2013\u2014*\u2020\u2021+/-]*"
_NUMBER: Final = r"(?:\d[\d.,:'/-]*|[nN]\.?/?[aAmM]\.?)?"
_UNIT: Final = r"(?:bps|bp|pts?|million|billion|mm|bn|[mMxX])?"
_CELL_WORD: Final = re.compile(rf"{_SIGNS}{_NUMBER}{_SIGNS}{_UNIT}")
