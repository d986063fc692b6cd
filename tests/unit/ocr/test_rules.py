"""Ruling lines are removed from scans of tables, and nothing else is."""

from __future__ import annotations

import numpy as np

from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.ocr.pages import without_rules

HEIGHT, WIDTH = 400, 1000


def page(pixels: np.ndarray) -> Raster:
    return Raster(pixels.shape[1], pixels.shape[0], pixels.astype(np.uint8).tobytes(), dpi=200)


def pixels_of(raster: Raster) -> np.ndarray:
    return np.frombuffer(raster.samples, np.uint8).reshape(raster.height, raster.width)


def letters() -> np.ndarray:
    pixels = np.full((HEIGHT, WIDTH), 255)
    pixels[60:90, 60:64] = 20  # as high and as wide as strokes of letters
    pixels[60:64, 60:85] = 20
    pixels[200:380, 700:950] = 20  # a part of a photograph
    return pixels


def test_lines_of_a_table_are_removed_and_letters_and_pictures_stay() -> None:
    ruled = letters()
    for line in (slice(20, 23), slice(120, 124)):
        ruled[line, 20:500] = 20
        ruled[line.stop, 20:500] = 200
    ruled[20:124, 20:23] = 20
    ruled[20:124, 497:500] = 20
    assert np.array_equal(pixels_of(without_rules(page(ruled))), letters())


def test_slanted_lines_are_removed() -> None:
    ruled = letters()
    for x in range(20, 600):
        ruled[130 + x // 60 : 134 + x // 60, x] = 20
    assert np.mean(pixels_of(without_rules(page(ruled))) == letters()) > 0.999


def test_a_page_without_lines_stays_as_it_is() -> None:
    for raster in (page(letters()), Raster(1, 1, b"\0"), Raster(100, 100, bytes(30_000), n_channels=3)):
        assert without_rules(raster) is raster
