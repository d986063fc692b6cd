"""Detection of text lines: a model assigns each pixel a probability, and connected probable pixels form a line.

The model marks only the middle of letters, so each box is expanded again, as in differentiable binarization.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from directory_indexer.inference import Session
from directory_indexer.lazy import lazily
from directory_indexer.ocr.components import Component, find_components
from directory_indexer.ocr.text_boxes import TextBox, draw

with lazily:
    from numpy.typing import NDArray


def detect(session: Session, page: NDArray[np.uint8], *, longest_side: int) -> list[TextBox]:
    """Return the text lines of a page, unordered, detected at the given size."""
    height, width = _size(page, longest_side)
    whole = TextBox(page.shape[1] / 2, page.shape[0] / 2, page.shape[1], page.shape[0])
    grey = draw(page, whole, height, width) / np.float32(127.5) - 1
    (probabilities,) = session.run(None, {"x": np.broadcast_to(grey, (1, 3, height, width))})
    boxes = boxes_of(probabilities[0, 0])
    return [_scaled(box, page.shape[1] / width, page.shape[0] / height) for box in boxes]


def boxes_of(probabilities: NDArray[np.float32]) -> list[TextBox]:
    """Return the boxes of lines from a probability map."""
    mask = probabilities > _PROBABLE
    # Gaps of one pixel are closed.
    mask[:, 1:] |= mask[:, :-1]
    mask[1:] |= mask[:-1]
    components = find_components(probabilities, mask, most=_MOST_LINES)
    return [_widened(component.box) for component in components if _is_text(component)]


def _is_text(component: Component) -> bool:
    return component.score >= _SURE and min(component.box.width, component.box.height) >= _SMALLEST


def _widened(box: TextBox) -> TextBox:
    distance = box.width * box.height * _WIDENING / (box.width + box.height)
    return box._replace(width=box.width + distance, height=box.height + distance)


def _size(page: NDArray[np.uint8], longest_side: int) -> tuple[int, int]:
    """Return the height and width of the model's input, which are multiples of 32."""
    scale = min(_LARGEST_SCALE, longest_side / max(page.shape))
    height, width = (max(round(side * scale / _STEP), 1) * _STEP for side in page.shape)
    return height, width


def _scaled(box: TextBox, x_scale: float, y_scale: float) -> TextBox:
    return TextBox(box.x * x_scale, box.y * y_scale, box.width * x_scale, box.height * y_scale, box.angle)


_STEP: Final = 32
_LARGEST_SCALE: Final = 2.0
"""Small letters are only detected when enlarged: of a page at 60 dpi, 90 % of the words instead of 80."""

_PROBABLE: Final = 0.3
_SURE: Final = 0.5
_SMALLEST: Final = 3
_WIDENING: Final = 1.6
_MOST_LINES: Final = 1000
