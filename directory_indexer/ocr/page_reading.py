"""Reading of all lines on a page with two models, text detection and text recognition, in reading order.

The recognition model yields probabilities of characters from left to right, which are decoded into words. Lines are
read one by one at their own width: on one thread a batch of six takes longer for each line, and six times the memory
(measured: 0.19 s against 0.13 s for a line of 1,600 pixels).

Columns are read one after the other, rows of tables across.

A part of a page is cut in two where the fewest lines cross the cut; lines that do, such as headlines, separate what is
above them from what is below. A part that is not prose on both sides of a cut, such as a column of numbers, is read by
rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.files import PAGE_UNITS, Box, Line, Word
from directory_indexer.core.inference import RUNTIME_ERRORS, Session, load_session, session_options
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.ocr.detection import TextBox, detect, resample

with lazily:
    from numpy.typing import NDArray

_SMALL_SIDE: Final = 736
_N_SAMPLES: Final = 5
_SAMPLE_RATIO: Final = 12
"""Ratio of length to height of the beginning of a line that is read to determine its direction."""

_HEIGHT: Final = 48
_STEP: Final = 8
_MIN_WIDTH: Final = 320
"""Narrower images are padded, as in training."""

_MAX_STEPS: Final = 400
"""A longer line is compressed: the model takes 75 kB a step."""

_N_CUTS: Final = 400
"""Number of positions at which a cut of a page is tried."""

_MIN_LINES: Final = 3
_MAX_SHARE_ACROSS: Final = 0.34
_MIN_PROSE_RATIO: Final = 5.0
"""Minimum ratio of width to height of a usual line of prose."""

_ROW_TOLERANCE: Final = 0.4
_MAX_HEIGHT_RATIO: Final = 4.0
_BLOCK_GAP: Final = 1.35
_MAX_LINE_GAP: Final = 2.0
_SIZE_CHANGE: Final = 1.5


def lines_on(page: Raster, detection: str, reading: str, *, longest_side: int, min_confidence: float) -> list[Line]:
    """Read an upright page with the models in two files; lines are returned in reading order.

    Raises:
        ExtractionError: a model cannot be loaded or run.
    """
    pixels = _grey(page)
    with _extraction_errors():
        boxes = detect(_session(detection), pixels, longest_side=longest_side)
        # A sideways page is to be illegible here, so that its lines are not returned in the wrong order.
        turns = (0,) if _is_sideways(boxes) else (0, 1, 3)
        read = [_best_reading(_session(reading), pixels, box, turns if box.is_tall else (0,)) for box in boxes]
    return _in_order([line for line in read if line.confidence >= min_confidence], page)


def turn_of(page: Raster, detection: str, reading: str) -> int:
    """Return the clockwise rotation that makes a page upright, by the direction in which its longest lines read best.

    Raises:
        ExtractionError: a model cannot be loaded or run.
    """
    pixels = _grey(page)
    with _extraction_errors():
        boxes = detect(_session(detection), pixels, longest_side=_SMALL_SIDE)
        turns = (1, 3) if _is_sideways(boxes) else (0, 2)
        longest = sorted(boxes, key=lambda box: max(box.width, box.height))[-_N_SAMPLES:]
        best = max(turns, key=lambda turn: _confidence(_session(reading), pixels, longest, turn))
    return -90 * best % 360


class ReadWord(NamedTuple):
    """A word of a line: its confidence (0 to 1), and its position in shares of the line."""

    text: str
    confidence: float
    start: float
    end: float


class ReadLine(NamedTuple):
    """A line that was read in a box."""

    box: TextBox
    words: tuple[ReadWord, ...]

    @property
    def confidence(self) -> float:
        """The mean confidence of its words, weighted by length; 0 without words."""
        n_signs = sum(len(word.text) for word in self.words)
        return sum(word.confidence * len(word.text) for word in self.words) / max(n_signs, 1)


class DecodedChar(NamedTuple):
    """A character that was read, at a step from the left."""

    text: str
    step: int
    confidence: float


def read_line(session: Session, page: NDArray[np.uint8], box: TextBox) -> ReadLine:
    """Read the line in a box."""
    width = _width(box)
    picture = np.zeros((1, 3, _HEIGHT, max(width, _MIN_WIDTH)), np.float32)
    picture[..., :width] = resample(page, box, _HEIGHT, width) / np.float32(127.5) - 1
    (probabilities,) = session.run(None, {"x": picture})
    steps = probabilities.shape[1] * width / picture.shape[3]
    return ReadLine(box, tuple(words_of(decode(probabilities[0], _alphabet(session)), n_steps=steps)))


def decode(probabilities: NDArray[np.float32], characters: tuple[str, ...]) -> list[DecodedChar]:
    """Return the most probable character of each step; a repeated one without a blank between is the same (CTC)."""
    best = probabilities.argmax(axis=1)
    is_new = (best != 0) & (np.diff(best, prepend=0) != 0)
    steps = np.flatnonzero(is_new)
    return [DecodedChar(characters[best[step]], int(step), float(probabilities[step, best[step]])) for step in steps]


def words_of(characters: list[DecodedChar], *, n_steps: float) -> list[ReadWord]:
    """Split characters into words at spaces; a word extends halfway to its neighbours."""
    words: list[ReadWord] = []
    start, letters = 0.0, list[DecodedChar]()
    for sign in [*characters, DecodedChar(" ", math.ceil(n_steps), 1.0)]:
        if not sign.text.isspace():
            if not letters and words:
                start = (start + sign.step) / 2
            letters.append(sign)
            continue
        if letters:
            words.append(_read_word(letters, start, (letters[-1].step + 1 + sign.step) / 2, n_steps))
        start, letters = float(sign.step + 1), []
    return words


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
        for row, is_first in zip(members, _block_starts(boxes, members), strict=True):
            block += is_first
            rows.append(Row(block, row))
    return rows


def _best_reading(session: Session, pixels: NDArray[np.uint8], box: TextBox, turns: Sequence[int]) -> ReadLine:
    """Read a box in each possible direction of its line, and return the most confident reading."""
    tried = (read_line(session, pixels, box.turned(turn)) for turn in turns)
    return max(tried, key=lambda line: line.confidence)


def _confidence(session: Session, pixels: NDArray[np.uint8], boxes: Sequence[TextBox], turn: int) -> float:
    return sum(read_line(session, pixels, _sample(box.turned(turn))).confidence for box in boxes)


def _sample(box: TextBox) -> TextBox:
    return box.segment(0, min(1.0, _SAMPLE_RATIO * box.height / max(box.width, 1.0)))


@lru_cache(maxsize=2)
def _session(model: str) -> Session:
    options = session_options()
    # Pages and lines vary in size: an arena would retain the memory of the largest of each.
    options.enable_cpu_mem_arena = False
    return load_session(model, options)


@contextmanager
def _extraction_errors() -> Iterator[None]:
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
    rows = rows_in_order(np.array([_deskewed(line.box, slant).extent() for line in read]))
    return [
        Line(
            tuple(_word(read[index], word, page) for index in row.boxes for word in range(len(read[index].words))),
            row.block,
        )
        for row in rows
    ]


def _deskewed(box: TextBox, slant: float) -> TextBox:
    x = box.x * math.cos(slant) + box.y * math.sin(slant)
    y = box.y * math.cos(slant) - box.x * math.sin(slant)
    return TextBox(x, y, box.width, box.height, box.angle - slant)


def _word(line: ReadLine, index: int, page: Raster) -> Word:
    word = line.words[index]
    left, top, right, bottom = line.box.segment(word.start, word.end).extent()
    places = (left / page.width, top / page.height, right / page.width, bottom / page.height)
    return Word(
        word.text,
        round(100 * word.confidence),
        Box(*(min(max(round(PAGE_UNITS * place), 0), PAGE_UNITS) for place in places)),
    )


def _read_word(letters: list[DecodedChar], start: float, end: float, n_steps: float) -> ReadWord:
    confidence = sum(letter.confidence for letter in letters) / len(letters)
    return ReadWord(
        "".join(letter.text for letter in letters), confidence, min(start / n_steps, 1.0), min(end / n_steps, 1.0)
    )


@lru_cache(maxsize=1)
def _alphabet(session: Session) -> tuple[str, ...]:
    # The first column is the CTC blank.
    described = session.get_modelmeta().custom_metadata_map["character"]
    return ("", *described.splitlines(), " ")


def _width(box: TextBox) -> int:
    """Return the width of a line's image, in whole steps of the model."""
    exact = _HEIGHT * box.width / max(box.height, 1.0)
    return min(max(round(exact / _STEP), 1), _MAX_STEPS) * _STEP


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
    places = np.linspace(left.min(initial=0), right.max(initial=0), _N_CUTS)[1:-1]
    is_left, is_right = right[None] <= places[:, None], left[None] >= places[:, None]
    n_across = len(boxes) - is_left.sum(axis=1) - is_right.sum(axis=1)
    enough = np.minimum(is_left.sum(axis=1), is_right.sum(axis=1)) >= _MIN_LINES
    if not enough.any():
        return None
    fewest = n_across[enough].min()
    gaps = _ranges(enough & (n_across == fewest))
    for start, end in sorted(gaps, key=lambda gap: gap[0] - gap[1]):
        place = float(places[start] + places[end - 1]) / 2
        if _are_columns(boxes, place, height):
            return place
    return None


def _are_columns(boxes: NDArray[np.float64], place: float, height: float) -> bool:
    left, top, right, bottom = boxes.T
    sides = (right <= place), (left >= place)
    if not all(float(np.median((right - left)[side])) >= _MIN_PROSE_RATIO * height for side in sides):
        return False
    tops, bottoms = ([float(edge[side].min()) for side in sides] for edge in (top, -bottom))
    beside_each_other = min(-edge for edge in bottoms) - max(tops)
    n_across = int(((left < place) & (right > place)).sum())
    return beside_each_other > height and n_across <= _MAX_SHARE_ACROSS * len(boxes)


def _ranges(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
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
    return distance < _ROW_TOLERANCE * smaller and larger < _MAX_HEIGHT_RATIO * smaller


def _block_starts(boxes: NDArray[np.float64], rows: Sequence[tuple[int, ...]]) -> list[bool]:
    """Return which rows are further below the previous one than lines of a paragraph are."""
    middles = np.array([float((boxes[row, 1] + boxes[row, 3]).mean()) / 2 for row in map(list, rows)])
    heights = np.array([float((boxes[row, 3] - boxes[row, 1]).max()) for row in map(list, rows)])
    distances = np.diff(middles)
    if not len(distances):
        return [False] * len(rows)
    usual = min(float(np.median(distances)), _MAX_LINE_GAP * float(np.median(heights)))
    other_size = np.maximum(heights[1:], heights[:-1]) > _SIZE_CHANGE * np.minimum(heights[1:], heights[:-1])
    return [False, *((distances > _BLOCK_GAP * usual) | other_size).tolist()]
