"""Damage that scanning does to a page."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
import pymupdf


class Damage(NamedTuple):
    """A slant in degrees, a blur and a noise by their deviations, and the quality of JPEG, 0 for none."""

    slant: float
    blur: float
    noise: float
    quality: int

    @classmethod
    def by_chance(cls, chance: random.Random) -> Damage:
        """Choose each by itself."""
        return cls(
            chance.choice((0, -0.8, 0.8)),
            chance.choice((0, 0.6, 1.0)),
            chance.choice((0, 8, 20)),
            chance.choice((0, 60, 35)),
        )

    @property
    def described(self) -> str:
        """Describe it in a few words."""
        return f"slant {self.slant}, blur {self.blur}, noise {self.noise}, jpeg {self.quality or 'none'}"


def damaged(pixels: np.ndarray, damage: Damage, generator: np.random.Generator) -> np.ndarray:
    """Blur a page, add noise and pack it; its slant it has from drawing."""
    values = pixels.astype(np.float32)
    if damage.blur:
        values = _blurred(_blurred(values, damage.blur).T, damage.blur).T
    values = values + generator.normal(0, damage.noise, values.shape)
    grey = np.clip(values, 0, 255).astype(np.uint8)
    return _packed(grey, damage.quality) if damage.quality else grey


def _blurred(values: np.ndarray, deviation: float) -> np.ndarray:
    offsets = np.arange(-3, 4)
    weights = np.exp(-((offsets / deviation) ** 2) / 2)
    pairs = zip(offsets, weights / weights.sum(), strict=True)
    return sum(np.roll(values, offset, axis=0) * np.float32(weight) for offset, weight in pairs)


def _packed(grey: np.ndarray, quality: int) -> np.ndarray:
    height, width = grey.shape
    pixels = pymupdf.Pixmap(pymupdf.csGRAY, width, height, np.ascontiguousarray(grey).tobytes(), False)
    unpacked = pymupdf.Pixmap(pixels.tobytes("jpg", jpg_quality=quality))
    return np.frombuffer(unpacked.samples, np.uint8).reshape(height, width)
