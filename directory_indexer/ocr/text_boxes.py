"""Rectangles around text at any angle, and resampling of their pixels."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from directory_indexer.lazy import lazily

with lazily:
    from numpy.typing import NDArray


class TextBox(NamedTuple):
    """A rectangle around its centre in pixels; `width` runs along the line, which falls by `angle` (in radians)."""

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0

    @property
    def is_tall(self) -> bool:
        """Whether it contains a vertical line, or a single narrow letter."""
        return self.height > _TALL * self.width

    def turned(self, quarters: int) -> TextBox:
        """Return the same rectangle, read in a direction rotated clockwise by a number of right angles."""
        width, height = (self.height, self.width) if quarters % 2 else (self.width, self.height)
        return TextBox(self.x, self.y, width, height, self.angle + quarters * math.pi / 2)

    def stretch(self, start: float, end: float) -> TextBox:
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


def draw(pixels: NDArray[np.uint8], box: TextBox, height: int, width: int) -> NDArray[np.float32]:
    """Resample the pixels of a box upright at a size; the edge of the image is extended outwards."""
    pixels, box = _shrunk(pixels, box, int(min(box.height / height, box.width / width)))
    cosine, sine = math.cos(box.angle), math.sin(box.angle)
    along = (((np.arange(width, dtype=np.float32) + 0.5) / width - 0.5) * box.width)[None, :]
    down = (((np.arange(height, dtype=np.float32) + 0.5) / height - 0.5) * box.height)[:, None]
    return _between_pixels(
        pixels, box.x - 0.5 + along * cosine - down * sine, box.y - 0.5 + along * sine + down * cosine
    )


def _shrunk(pixels: NDArray[np.uint8], box: TextBox, factor: int) -> tuple[NDArray[np.uint8], TextBox]:
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


def _between_pixels(pixels: NDArray[np.uint8], x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float32]:
    x, y = (np.clip(at, 0, size - 1).astype(np.float32) for at, size in ((x, pixels.shape[1]), (y, pixels.shape[0])))
    left, top = x.astype(np.int32), y.astype(np.int32)
    right, below = np.minimum(left + 1, pixels.shape[1] - 1), np.minimum(top + 1, pixels.shape[0] - 1)
    x_share, y_share = x - left.astype(np.float32), y - top.astype(np.float32)
    upper = pixels[top, left] * (1 - x_share) + pixels[top, right] * x_share
    lower = pixels[below, left] * (1 - x_share) + pixels[below, right] * x_share
    return np.asarray(upper * (1 - y_share) + lower * y_share, np.float32)


_TALL: Final = 1.5
