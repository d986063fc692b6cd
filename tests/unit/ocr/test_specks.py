"""Noise: scans with specks are smoothed before they are given up, and what is seen in photographs is no text."""

from __future__ import annotations

import numpy as np
import pytest

from directory_indexer.core.files import Box, Line, Recognition, Word
from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.ocr.pages import despeckled, without_noise


def page(pixels: np.ndarray) -> Raster:
    return Raster(pixels.shape[1], pixels.shape[0], pixels.astype(np.uint8).tobytes(), dpi=200)


def lettered() -> np.ndarray:
    pixels = np.full((300, 400), 240)
    pixels[40:60, 20:380] = 20
    pixels[100:260, 60:70] = 20
    return pixels


def test_specks_are_removed_and_strokes_stay() -> None:
    noise = np.random.default_rng(7).random((300, 400)) < 0.05
    smooth = despeckled(page(np.where(noise, 90, lettered())))
    assert smooth is not None
    pixels = np.frombuffer(smooth.samples, np.uint8).reshape(300, 400)
    assert np.mean(pixels == lettered()) > 0.99


def test_a_page_without_noise_is_not_read_once_more() -> None:
    assert despeckled(page(lettered())) is None
    assert despeckled(page(np.full((300, 400), 255))) is None
    assert despeckled(Raster(1, 1, b"\0")) is None


def recognised(*words: tuple[str, int]) -> Recognition:
    return Recognition("an engine", (Line(tuple(Word(text, sure, Box(0, 0, 1, 1)) for text, sure in words), 0),))


@pytest.mark.parametrize(
    "words", [[("4", 35)], [("/", 94), ("a", 91), ("T", 87), ("%", 90)], [("RSUNNSEPRT", 37), ("LK", 36)]]
)
def test_signs_that_are_seen_in_a_photograph_are_no_text(words: list[tuple[str, int]]) -> None:
    assert without_noise(recognised(*words)).lines == ()


@pytest.mark.parametrize(
    "words", [[("BAR", 70)], [("12", 96), ("a", 88)], [("東", 90), ("京", 90), ("駅", 75), ("x", 20)]]
)
def test_a_word_that_is_read_for_certain_is_text(words: list[tuple[str, int]]) -> None:
    assert without_noise(recognised(*words)) == recognised(*words)
