"""Detection of text lines: a model assigns each pixel a probability, and connected probable pixels form a line.

A line is a rectangle at any angle. The model marks only the middle of letters, so each box is expanded again, as in
differentiable binarization. Components are connected by runs of pixels.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from directory_indexer.core.inference import Session
from directory_indexer.core.lazy import lazily

with lazily:
    from numpy.typing import NDArray

_STEP: Final = 32
_MAX_SCALE: Final = 2.0
"""Small letters are only detected when enlarged: of a page at 60 dpi, 90 % of the words instead of 80."""

_PIXEL_THRESHOLD: Final = 0.3
_BOX_THRESHOLD: Final = 0.5
_MIN_SIDE: Final = 3
_UNCLIP_RATIO: Final = 1.6
_MAX_LINES: Final = 1000

_TALL_RATIO: Final = 1.5

_LONG_RATIO: Final = 4.0
"""Minimum ratio of length to thickness for a component's slant to be that of a line."""


def detect(session: Session, page: NDArray[np.uint8], *, longest_side: int) -> list[TextBox]:
    """Return the text lines of a page, unordered, detected at the given size."""
    height, width = _size(page, longest_side)
    whole = TextBox(page.shape[1] / 2, page.shape[0] / 2, page.shape[1], page.shape[0])
    grey = resample(page, whole, height, width) / np.float32(127.5) - 1
    (probabilities,) = session.run(None, {"x": np.broadcast_to(grey, (1, 3, height, width))})
    boxes = boxes_of(probabilities[0, 0])
    return [_scaled(box, page.shape[1] / width, page.shape[0] / height) for box in boxes]


def boxes_of(probabilities: NDArray[np.float32]) -> list[TextBox]:
    """Return the boxes of lines from a probability map."""
    mask = probabilities > _PIXEL_THRESHOLD
    # Gaps of one pixel are closed.
    mask[:, 1:] |= mask[:, :-1]
    mask[1:] |= mask[:-1]
    components = find_components(probabilities, mask, most=_MAX_LINES)
    return [_unclipped(component.box) for component in components if _is_text(component)]


class TextBox(NamedTuple):
    """A rectangle around its centre in pixels; `width` runs along the line, which falls by `angle` (in radians)."""

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0

    @property
    def is_tall(self) -> bool:
        """Whether it is a vertical line or a single narrow letter."""
        return self.height > _TALL_RATIO * self.width

    def turned(self, quarters: int) -> TextBox:
        """Return the same rectangle, read in a direction rotated clockwise by a number of right angles."""
        width, height = (self.height, self.width) if quarters % 2 else (self.width, self.height)
        return TextBox(self.x, self.y, width, height, self.angle + quarters * math.pi / 2)

    def segment(self, start: float, end: float) -> TextBox:
        """Return the part between two positions along the line, each a share of its width."""
        along = ((start + end) / 2 - 0.5) * self.width
        x, y = self.x + along * math.cos(self.angle), self.y + along * math.sin(self.angle)
        return TextBox(x, y, (end - start) * self.width, self.height, self.angle)

    def extent(self) -> tuple[float, float, float, float]:
        """Return the left, top, right and bottom of its bounding box."""
        cosine, sine = abs(math.cos(self.angle)), abs(math.sin(self.angle))
        half_width = (self.width * cosine + self.height * sine) / 2
        half_height = (self.width * sine + self.height * cosine) / 2
        return self.x - half_width, self.y - half_height, self.x + half_width, self.y + half_height


def resample(pixels: NDArray[np.uint8], box: TextBox, height: int, width: int) -> NDArray[np.float32]:
    """Resample a box upright at a size; edge pixels are repeated outwards."""
    pixels, box = _downsampled(pixels, box, int(min(box.height / height, box.width / width)))
    cosine, sine = math.cos(box.angle), math.sin(box.angle)
    along = (((np.arange(width, dtype=np.float32) + 0.5) / width - 0.5) * box.width)[None, :]
    down = (((np.arange(height, dtype=np.float32) + 0.5) / height - 0.5) * box.height)[:, None]
    return _interpolated(pixels, box.x - 0.5 + along * cosine - down * sine, box.y - 0.5 + along * sine + down * cosine)


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
    upper, lower = _adjacent_runs(runs)
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


def _is_text(component: Component) -> bool:
    return component.score >= _BOX_THRESHOLD and min(component.box.width, component.box.height) >= _MIN_SIDE


def _unclipped(box: TextBox) -> TextBox:
    distance = box.width * box.height * _UNCLIP_RATIO / (box.width + box.height)
    return box._replace(width=box.width + distance, height=box.height + distance)


def _size(page: NDArray[np.uint8], longest_side: int) -> tuple[int, int]:
    """Return the height and width of the model's input, which are multiples of 32."""
    scale = min(_MAX_SCALE, longest_side / max(page.shape))
    height, width = (max(round(side * scale / _STEP), 1) * _STEP for side in page.shape)
    return height, width


def _scaled(box: TextBox, x_scale: float, y_scale: float) -> TextBox:
    return TextBox(box.x * x_scale, box.y * y_scale, box.width * x_scale, box.height * y_scale, box.angle)


def _downsampled(pixels: NDArray[np.uint8], box: TextBox, factor: int) -> tuple[NDArray[np.uint8], TextBox]:
    """Downsample by averaging if the box is much larger than its target, so that thin strokes are not lost."""
    if factor < 2:  # noqa: PLR2004 - twice as large
        return pixels, box
    left, top, right, bottom = box.extent()
    x0, y0 = max(int(left), 0), max(int(top), 0)
    cut = pixels[y0 : max(int(bottom) + 1, y0 + factor), x0 : max(int(right) + 1, x0 + factor)]
    n_rows, n_columns = cut.shape[0] // factor, cut.shape[1] // factor
    if not n_rows or not n_columns:
        return pixels, box
    blocks = cut[: n_rows * factor, : n_columns * factor].reshape(n_rows, factor, n_columns, factor)
    smaller = blocks.mean(axis=(1, 3), dtype=np.float32).astype(np.uint8)
    return smaller, TextBox(
        (box.x - x0) / factor, (box.y - y0) / factor, box.width / factor, box.height / factor, box.angle
    )


def _interpolated(pixels: NDArray[np.uint8], x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float32]:
    x, y = (np.clip(at, 0, size - 1).astype(np.float32) for at, size in ((x, pixels.shape[1]), (y, pixels.shape[0])))
    left, top = x.astype(np.int32), y.astype(np.int32)
    right, below = np.minimum(left + 1, pixels.shape[1] - 1), np.minimum(top + 1, pixels.shape[0] - 1)
    x_share, y_share = x - left.astype(np.float32), y - top.astype(np.float32)
    upper = pixels[top, left] * (1 - x_share) + pixels[top, right] * x_share
    lower = pixels[below, left] * (1 - x_share) + pixels[below, right] * x_share
    return np.asarray(upper * (1 - y_share) + lower * y_share, np.float32)


def _adjacent_runs(runs: Runs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    are_long = across + down + spread > _LONG_RATIO**2 * np.maximum(across + down - spread, 1e-9)
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
