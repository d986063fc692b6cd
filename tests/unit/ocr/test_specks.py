"""Scans with noise are smoothed before they are given up."""

from __future__ import annotations

import numpy as np

from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.ocr.pages import without_specks


def page(pixels: np.ndarray) -> Raster:
    return Raster(pixels.shape[1], pixels.shape[0], pixels.astype(np.uint8).tobytes(), dpi=200)


def lettered() -> np.ndarray:
    pixels = np.full((300, 400), 240)
    pixels[40:60, 20:380] = 20
    pixels[100:260, 60:70] = 20
    return pixels


def test_specks_are_removed_and_strokes_stay() -> None:
    noise = np.random.default_rng(7).random((300, 400)) < 0.05
    smooth = without_specks(page(np.where(noise, 90, lettered())))
    assert smooth is not None
    pixels = np.frombuffer(smooth.samples, np.uint8).reshape(300, 400)
    assert np.mean(pixels == lettered()) > 0.99


def test_a_page_without_noise_is_not_read_once_more() -> None:
    assert without_specks(page(lettered())) is None
    assert without_specks(page(np.full((300, 400), 255))) is None
    assert without_specks(Raster(1, 1, b"\0")) is None
