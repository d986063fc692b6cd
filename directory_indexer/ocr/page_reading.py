"""Reading of all lines on a page with two models: text detection and text recognition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

import numpy as np

from directory_indexer.errors import ExtractionError
from directory_indexer.extractors.pdf.raster import Raster
from directory_indexer.inference import RUNTIME_ERRORS, Session, load_session, session_options
from directory_indexer.lazy import lazily
from directory_indexer.ocr.detection import detect
from directory_indexer.ocr.reading_order import rows_in_order
from directory_indexer.ocr.recognition_model import ReadLine, read_line
from directory_indexer.ocr.text_boxes import TextBox
from directory_indexer.scans import WHOLE, Box, Line, Word

with lazily:
    from numpy.typing import NDArray


def lines_on(page: Raster, detection: str, reading: str, *, longest_side: int, min_confidence: float) -> list[Line]:
    """Read an upright page with the models in two files; lines are returned in reading order.

    Raises:
        ExtractionError: a model cannot be loaded or run.
    """
    pixels = _grey(page)
    with _translated_errors():
        boxes = detect(_session(detection), pixels, longest_side=longest_side)
        # A sideways page is to be illegible here, so that its lines are not returned in the wrong order.
        turns = (0,) if _is_sideways(boxes) else (0, 1, 3)
        read = [_best(_session(reading), pixels, box, turns if box.is_tall else (0,)) for box in boxes]
    return _in_order([line for line in read if line.confidence >= min_confidence], page)


def turn_of(page: Raster, detection: str, reading: str) -> int:
    """Return the clockwise rotation that makes a page upright, by the direction in which its longest lines read best.

    Raises:
        ExtractionError: a model cannot be loaded or run.
    """
    pixels = _grey(page)
    with _translated_errors():
        boxes = detect(_session(detection), pixels, longest_side=_SMALL_SIDE)
        turns = (1, 3) if _is_sideways(boxes) else (0, 2)
        longest = sorted(boxes, key=lambda box: max(box.width, box.height))[-_N_TRIED:]
        best = max(turns, key=lambda turn: _confidence(_session(reading), pixels, longest, turn))
    return -90 * best % 360


def _best(session: Session, pixels: NDArray[np.uint8], box: TextBox, turns: Sequence[int]) -> ReadLine:
    """Read a box in each possible direction of its line, and return the most confident reading."""
    tried = (read_line(session, pixels, box.turned(turn)) for turn in turns)
    return max(tried, key=lambda line: line.confidence)


def _confidence(session: Session, pixels: NDArray[np.uint8], boxes: Sequence[TextBox], turn: int) -> float:
    return sum(read_line(session, pixels, _beginning(box.turned(turn))).confidence for box in boxes)


def _beginning(box: TextBox) -> TextBox:
    return box.stretch(0, min(1.0, _TRIED_LENGTH * box.height / max(box.width, 1.0)))


@lru_cache(maxsize=2)
def _session(model: str) -> Session:
    options = session_options()
    # Pages and lines vary in size: an arena would retain the memory of the largest of each.
    options.enable_cpu_mem_arena = False
    return load_session(model, options)


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except RUNTIME_ERRORS as error:
        raise ExtractionError(f"RapidOCR's model failed: {error}") from error


def _is_sideways(boxes: Sequence[TextBox]) -> bool:
    """Whether most of the text runs vertically."""
    tall = sum(box.height for box in boxes if box.is_tall)
    return tall > sum(box.width for box in boxes if not box.is_tall)


def _grey(page: Raster) -> NDArray[np.uint8]:
    pixels = np.frombuffer(page.samples, np.uint8).reshape(page.height, page.width, page.n_channels)
    return pixels[:, :, 0] if page.n_channels == 1 else pixels.mean(axis=2, dtype=np.float32).astype(np.uint8)


def _in_order(read: Sequence[ReadLine], page: Raster) -> list[Line]:
    """Return the lines in reading order, as if the page were not slanted."""
    if not read:
        return []
    slant = float(np.median([line.box.angle for line in read if abs(line.box.angle) < math.pi / 4] or [0.0]))
    rows = rows_in_order(np.array([_levelled(line.box, slant).extent() for line in read]))
    return [
        Line(
            tuple(_word(read[index], word, page) for index in row.boxes for word in range(len(read[index].words))),
            row.block,
        )
        for row in rows
    ]


def _levelled(box: TextBox, slant: float) -> TextBox:
    x = box.x * math.cos(slant) + box.y * math.sin(slant)
    y = box.y * math.cos(slant) - box.x * math.sin(slant)
    return TextBox(x, y, box.width, box.height, box.angle - slant)


def _word(line: ReadLine, index: int, page: Raster) -> Word:
    word = line.words[index]
    left, top, right, bottom = line.box.stretch(word.start, word.end).extent()
    places = (left / page.width, top / page.height, right / page.width, bottom / page.height)
    return Word(
        word.text, round(100 * word.confidence), Box(*(min(max(round(WHOLE * place), 0), WHOLE) for place in places))
    )


_SMALL_SIDE: Final = 736
_N_TRIED: Final = 5
_TRIED_LENGTH: Final = 12
"""Ratio of length to height of the beginning of a line that is read to determine its direction."""
