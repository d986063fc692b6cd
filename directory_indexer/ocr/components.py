"""Connected components of a mask, by runs of pixels, with their position and slant."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from directory_indexer.lazy import lazily
from directory_indexer.ocr.text_boxes import TextBox

with lazily:
    from numpy.typing import NDArray


class Runs(NamedTuple):
    """Horizontal runs of set pixels, row by row; ends are exclusive."""

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def of(self, members: NDArray[np.bool_] | NDArray[np.int64]) -> Runs:
        """Return a selection of runs."""
        return Runs(self.rows[members], self.starts[members], self.ends[members])


class Component(NamedTuple):
    """Connected pixels, with their upright or slanted bounding rectangle and the mean of their values."""

    box: TextBox
    score: float


def find_runs(mask: NDArray[np.bool_]) -> Runs:
    """Return all runs, from top to bottom and left to right."""
    padded = np.zeros((mask.shape[0], mask.shape[1] + 2), np.int8)
    padded[:, 1:-1] = mask
    changes = np.diff(padded, axis=1)
    rows, starts = np.nonzero(changes == 1)
    _, ends = np.nonzero(changes == -1)
    return Runs(rows, starts, ends)


def label_runs(runs: Runs) -> NDArray[np.int64]:
    """Return the component number of each run; diagonal neighbours are connected, and numbers count from 0."""
    upper, lower = _touching(runs)
    labels = np.arange(len(runs.rows))
    while True:
        left, right = labels[upper], labels[lower]
        if (left == right).all():
            return np.unique(labels, return_inverse=True)[1]
        # The larger of two labels is replaced by the smaller one, then all labels are resolved transitively.
        np.minimum.at(labels, np.maximum(left, right), np.minimum(left, right))
        while (labels != labels[labels]).any():
            labels = labels[labels]


def find_components(values: NDArray[np.float32], mask: NDArray[np.bool_], *, most: int) -> list[Component]:
    """Return at most `most` components, the largest ones; the score is the mean of the values."""
    runs = find_runs(mask)
    if not len(runs.rows):
        return []
    labels = label_runs(runs)
    order = np.argsort(labels, kind="stable")
    runs, labels = runs.of(order), labels[order]
    firsts = np.flatnonzero(np.diff(labels, prepend=-1))
    scores = _means(values, runs, firsts)
    boxes = _boxes(runs, firsts)
    largest = np.argsort([-box.width * box.height for box in boxes], kind="stable")[:most]
    return [Component(boxes[index], float(scores[index])) for index in sorted(largest)]


def _touching(runs: Runs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair each run with the consecutive runs of the next row that it touches."""
    width = int(runs.ends.max(initial=0)) + 2
    next_row = (runs.rows + 1) * width
    first = np.searchsorted(runs.rows * width + runs.ends, next_row + runs.starts, side="left")
    behind = np.searchsorted(runs.rows * width + runs.starts, next_row + runs.ends, side="right")
    n_touched = np.maximum(behind - first, 0)
    upper = np.repeat(np.arange(len(runs.rows)), n_touched)
    offsets = np.arange(len(upper)) - np.repeat(np.cumsum(n_touched) - n_touched, n_touched)
    return upper, np.repeat(first, n_touched) + offsets


def _means(values: NDArray[np.float32], runs: Runs, firsts: NDArray[np.int64]) -> NDArray[np.float64]:
    sums = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    row_starts = runs.rows * values.shape[1]
    of_runs = sums[row_starts + runs.ends] - sums[row_starts + runs.starts]
    return np.asarray(np.add.reduceat(of_runs, firsts) / np.add.reduceat(runs.ends - runs.starts, firsts))


def _boxes(runs: Runs, firsts: NDArray[np.int64]) -> list[TextBox]:
    """Return a rectangle around each component: at its own slant if it is long, else at the median of the long ones."""
    slants, are_long = _slants(runs, firsts)
    slants = np.where(are_long, slants, np.median(slants[are_long]) if are_long.any() else 0.0)
    sizes = np.diff(firsts, append=len(runs.rows))
    cosine, sine = np.repeat(np.cos(slants), sizes), np.repeat(np.sin(slants), sizes)
    left, right, top, bottom = _spans(runs, cosine, sine, firsts)
    along, down = (left + right) / 2, (top + bottom) / 2
    xs, ys = along * np.cos(slants) - down * np.sin(slants), along * np.sin(slants) + down * np.cos(slants)
    columns = (xs, ys, right - left, bottom - top, slants)
    return [TextBox(*row) for row in np.stack(columns, axis=1).tolist()]


def _slants(runs: Runs, firsts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the slant of each component, from -45 to 45 degrees, and whether it is long enough to have one."""
    n_pixels = (runs.ends - runs.starts).astype(np.float64)
    x, y = (runs.starts + runs.ends) / 2, runs.rows + 0.5

    def mean(of_runs: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(np.add.reduceat(of_runs * n_pixels, firsts) / np.add.reduceat(n_pixels, firsts))

    mean_x, mean_y = mean(x), mean(y)
    across = mean(x * x + n_pixels * n_pixels / 12) - mean_x**2
    down = mean(y * y) - mean_y**2 + 1 / 12
    both = mean(x * y) - mean_x * mean_y
    spread = np.hypot(across - down, 2 * both)
    are_long = across + down + spread > _LONG**2 * np.maximum(across + down - spread, 1e-9)
    slants = np.arctan2(2 * both, across - down) / 2
    return slants - np.round(slants / (math.pi / 2)) * (math.pi / 2), are_long


def _spans(
    runs: Runs, cosine: NDArray[np.float64], sine: NDArray[np.float64], firsts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], ...]:
    """Return the extents of the components along and across their slants, from the corners of their runs."""
    corners = [(x, y) for x in (runs.starts, runs.ends) for y in (runs.rows, runs.rows + 1)]
    along = [x * cosine + y * sine for x, y in corners]
    down = [y * cosine - x * sine for x, y in corners]
    return tuple(
        np.asarray(choose.reduceat(choose.reduce(of_corners), firsts))
        for of_corners in (along, down)
        for choose in (np.minimum, np.maximum)
    )


_LONG: Final = 4.0
"""Minimum ratio of length to thickness for a component's slant to be that of a line."""
