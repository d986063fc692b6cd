"""Reading order of lines on a page: columns one after the other, rows of tables across.

A part of a page is cut in two where the fewest lines cross the cut; lines that do, such as headlines, separate what is
above them from what is below. A part that is not prose on both sides of a cut, such as a column of numbers, is read by
rows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from directory_indexer.lazy import lazily

with lazily:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


class Row(NamedTuple):
    """Boxes beside each other, by their indexes from left to right, and the block of the row."""

    block: int
    boxes: tuple[int, ...]


def rows_in_order(boxes: NDArray[np.float64]) -> list[Row]:
    """Return boxes (left, top, right and bottom of each) in reading order; blocks count from 0."""
    rows: list[Row] = []
    for part in _parts(boxes, np.arange(len(boxes))):
        block = rows[-1].block + 1 if rows else 0
        members = _rows(boxes, part)
        for row, is_first in zip(members, _begins_block(boxes, members), strict=True):
            block += is_first
            rows.append(Row(block, row))
    return rows


def _parts(boxes: NDArray[np.float64], part: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the columns of a part of a page, by recursive cuts."""
    cut = _cut(boxes[part])
    if cut is None:
        yield part
        return
    left, top, right, bottom = boxes[part].T
    are_beside = _beside_each_other(left >= cut, (left < cut) & (right > cut), (top + bottom) / 2)
    order = np.argsort(top + bottom, kind="stable")
    for band in np.split(order, np.flatnonzero(np.diff(are_beside[order])) + 1):
        if not are_beside[band[0]]:
            yield part[band]
            continue
        for side in (band[right[band] <= cut], band[left[band] >= cut]):
            yield from _parts(boxes, part[side])


def _beside_each_other(
    is_right: NDArray[np.bool_], lies_across: NDArray[np.bool_], middle: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which boxes are in columns: between two crossing lines there must be boxes on both sides."""
    bands = np.searchsorted(np.sort(middle[lies_across]), middle)
    on_right, on_left = bands[is_right], bands[~is_right & ~lies_across]
    return np.asarray(~lies_across & np.isin(bands, on_right) & np.isin(bands, on_left))


def _cut(boxes: NDArray[np.float64]) -> float | None:
    """Return the middle of the widest gap between two columns of prose that the fewest lines cross."""
    left, top, right, bottom = boxes.T
    height = float(np.median(bottom - top)) if len(boxes) else 0.0
    places = np.linspace(left.min(initial=0), right.max(initial=0), _PLACES)[1:-1]
    is_left, is_right = right[None] <= places[:, None], left[None] >= places[:, None]
    n_across = len(boxes) - is_left.sum(axis=1) - is_right.sum(axis=1)
    enough = np.minimum(is_left.sum(axis=1), is_right.sum(axis=1)) >= _FEWEST
    if not enough.any():
        return None
    fewest = n_across[enough].min()
    gaps = _stretches(enough & (n_across == fewest))
    for start, end in sorted(gaps, key=lambda gap: gap[0] - gap[1]):
        place = float(places[start] + places[end - 1]) / 2
        if _are_columns(boxes, place, height):
            return place
    return None


def _are_columns(boxes: NDArray[np.float64], place: float, height: float) -> bool:
    left, top, right, bottom = boxes.T
    sides = (right <= place), (left >= place)
    if not all(float(np.median((right - left)[side])) >= _PROSE * height for side in sides):
        return False
    tops, bottoms = ([float(edge[side].min()) for side in sides] for edge in (top, -bottom))
    beside_each_other = min(-edge for edge in bottoms) - max(tops)
    n_across = int(((left < place) & (right > place)).sum())
    return beside_each_other > height and n_across <= _MOST_ACROSS * len(boxes)


def _stretches(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _rows(boxes: NDArray[np.float64], part: NDArray[np.int64]) -> list[tuple[int, ...]]:
    """Join boxes at the same level, from the top."""
    rows: list[list[int]] = []
    for index in part[np.argsort(boxes[part, 1] + boxes[part, 3], kind="stable")].tolist():
        if rows and _is_level(boxes[index], boxes[rows[-1][0]]):
            rows[-1].append(index)
        else:
            rows.append([index])
    return [tuple(sorted(row, key=lambda box_index: float(boxes[box_index, 0]))) for row in rows]


def _is_level(box: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether two boxes are in one row; a vertical line in the margin is part of none."""
    smaller, larger = sorted((float(box[3] - box[1]), float(other[3] - other[1])))
    distance = float(box[1] + box[3] - other[1] - other[3]) / 2
    return distance < _SAME_ROW * smaller and larger < _MARGINAL * smaller


def _begins_block(boxes: NDArray[np.float64], rows: Sequence[tuple[int, ...]]) -> list[bool]:
    """Return which rows are further below the previous one than lines of a paragraph are."""
    middles = np.array([float((boxes[row, 1] + boxes[row, 3]).mean()) / 2 for row in map(list, rows)])
    heights = np.array([float((boxes[row, 3] - boxes[row, 1]).max()) for row in map(list, rows)])
    distances = np.diff(middles)
    if not len(distances):
        return [False] * len(rows)
    usual = min(float(np.median(distances)), _LOOSE * float(np.median(heights)))
    other_size = np.maximum(heights[1:], heights[:-1]) > _OTHER_SIZE * np.minimum(heights[1:], heights[:-1])
    return [False, *((distances > _APART * usual) | other_size).tolist()]


_PLACES: Final = 400
"""Number of positions at which a cut of a page is tried."""

_FEWEST: Final = 3
_MOST_ACROSS: Final = 0.34
_PROSE: Final = 5.0
"""Minimum ratio of width to height of a usual line of prose."""

_SAME_ROW: Final = 0.4
_MARGINAL: Final = 4.0
_APART: Final = 1.35
_LOOSE: Final = 2.0
_OTHER_SIZE: Final = 1.5
