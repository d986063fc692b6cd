"""Text recognised by OCR, as rows among those of the text layer of a page."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from directory_indexer.extractors.pdf.characters import clean
from directory_indexer.extractors.pdf.pages import Row
from directory_indexer.scans import WHOLE, Box, Line, Recognition, turned

_LARGE = 1.6
"""Lines so much higher than others are headings; the heights of recognised letters vary."""

_SIDEWAYS = (90, 270)
_USUAL_SIZE = 100
_LINE_HEIGHT = 140


def rows_of(recognition: Recognition, *, width: int, height: int, beside: Sequence[Row] = ()) -> list[Row]:
    """Return the recognised lines of a page, whose size is in tenths of a point, without those in `beside`.

    If there are none `beside`, a page scanned sideways is turned upright, so that its order is the reading order.
    """
    turn = 0 if beside else recognition.turn
    if turn in _SIDEWAYS:
        width, height = height, width
    first_block = max((row.block for row in beside), default=-1) + 1
    lines = [line for line in recognition.lines if line.words]
    heights = [_height(line, turn) * height // WHOLE for line in lines]
    usual = int(median(line_height for line_height in heights if line_height)) if any(heights) else _USUAL_SIZE
    rows = [
        Row(
            clean(line.text),
            *_sides(line, number, (width, height), turn),
            # The box of a slanted line is higher than its words.
            size=line_height if line_height > _LARGE * usual else usual,
            is_bold=False,
            block=first_block + line.block,
        )
        for number, (line, line_height) in enumerate(zip(lines, heights, strict=True))
    ]
    return [row for row in rows if row.text and not any(_is_on(row, other) for other in beside)]


def _height(line: Line, turn: int) -> int:
    """Return the usual height of the words of a line; 0 if the engine gives no positions."""
    boxes = [turned(word.box, turn) for word in line.words if word.box]
    return int(median(box.bottom - box.top for box in boxes)) if boxes else 0


def _sides(line: Line, number: int, size: tuple[int, int], turn: int) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a line; lines without positions are stacked."""
    width, height = size
    box = _box_of(line)
    if box is None:
        return 0, number * _LINE_HEIGHT, width, number * _LINE_HEIGHT + _USUAL_SIZE
    left, top, right, bottom = turned(box, turn)
    return left * width // WHOLE, top * height // WHOLE, right * width // WHOLE, bottom * height // WHOLE


def _box_of(line: Line) -> Box | None:
    boxes = [word.box for word in line.words if word.box]
    if not boxes:
        return None
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


def _is_on(row: Row, other: Row) -> bool:
    """Whether the middle of a row lies in another one."""
    x, y = (row.left + row.right) // 2, (row.top + row.bottom) // 2
    return other.left <= x <= other.right and other.top <= y <= other.bottom
