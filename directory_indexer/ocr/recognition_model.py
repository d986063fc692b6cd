"""Text recognition: a model yields probabilities of characters from left to right, which are decoded into words.

Lines are read one by one at their own width: on one thread a batch of six takes longer for each line, and six times the
memory (measured: 0.19 s against 0.13 s for a line of 1,600 pixels).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from directory_indexer.inference import Session
from directory_indexer.lazy import lazily
from directory_indexer.ocr.text_boxes import TextBox, draw

with lazily:
    from numpy.typing import NDArray


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


class Sign(NamedTuple):
    """A character that was read, at a step from the left."""

    text: str
    step: int
    confidence: float


def read_line(session: Session, page: NDArray[np.uint8], box: TextBox) -> ReadLine:
    """Read the line in a box."""
    width = _width(box)
    picture = np.zeros((1, 3, _HEIGHT, max(width, _NARROWEST)), np.float32)
    picture[..., :width] = draw(page, box, _HEIGHT, width) / np.float32(127.5) - 1
    (probabilities,) = session.run(None, {"x": picture})
    steps = probabilities.shape[1] * width / picture.shape[3]
    return ReadLine(box, tuple(words_of(decode(probabilities[0], _signs(session)), n_steps=steps)))


def decode(probabilities: NDArray[np.float32], signs: tuple[str, ...]) -> list[Sign]:
    """Return the most probable character of each step; a repeated one without a blank between is the same (CTC)."""
    best = probabilities.argmax(axis=1)
    is_new = (best != 0) & (np.diff(best, prepend=0) != 0)
    steps = np.flatnonzero(is_new)
    return [Sign(signs[best[step]], int(step), float(probabilities[step, best[step]])) for step in steps]


def words_of(signs: list[Sign], *, n_steps: float) -> list[ReadWord]:
    """Split characters into words at spaces; a word extends halfway to its neighbours."""
    words: list[ReadWord] = []
    start, letters = 0.0, list[Sign]()
    for sign in [*signs, Sign(" ", math.ceil(n_steps), 1.0)]:
        if not sign.text.isspace():
            if not letters and words:
                start = (start + sign.step) / 2
            letters.append(sign)
            continue
        if letters:
            words.append(_read_word(letters, start, (letters[-1].step + 1 + sign.step) / 2, n_steps))
        start, letters = float(sign.step + 1), []
    return words


def _read_word(letters: list[Sign], start: float, end: float, n_steps: float) -> ReadWord:
    confidence = sum(letter.confidence for letter in letters) / len(letters)
    return ReadWord(
        "".join(letter.text for letter in letters), confidence, min(start / n_steps, 1.0), min(end / n_steps, 1.0)
    )


@lru_cache(maxsize=1)
def _signs(session: Session) -> tuple[str, ...]:
    # The first column is the CTC blank.
    described = session.get_modelmeta().custom_metadata_map["character"]
    return ("", *described.splitlines(), " ")


def _width(box: TextBox) -> int:
    """Return the width of a line's image, in whole steps of the model."""
    exact = _HEIGHT * box.width / max(box.height, 1.0)
    return min(max(round(exact / _STEP), 1), _MOST_STEPS) * _STEP


_HEIGHT: Final = 48
_STEP: Final = 8
_NARROWEST: Final = 320
"""Narrower images are padded, as in training."""

_MOST_STEPS: Final = 400
"""A longer line is compressed: the model takes 75 kB a step."""
