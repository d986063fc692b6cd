"""OCR with the models in RapidOCR's wheel, without its code, which needs OpenCV and more.

They know Latin, Chinese and Japanese characters in any language. Of Greek they know the letters of formulas, without
accents; of Cyrillic and other alphabets nothing. Such pages have low confidence.
"""

from __future__ import annotations

import importlib.util
import os
from functools import cached_property
from typing import Final, NamedTuple

from directory_indexer.extractors.pdf.raster import Raster
from directory_indexer.ids import content_hash
from directory_indexer.lazy import lazily
from directory_indexer.scans import Recognition

with lazily:
    from importlib.metadata import version

    from directory_indexer.ocr.page_reading import lines_on, turn_of


class InstalledModels(NamedTuple):
    """The version of the package, and the files of its models."""

    version: str
    detection: str
    reading: str


def installed_models() -> InstalledModels | None:
    """Return the models without importing the package, or None if they are not installed."""
    spec = importlib.util.find_spec("rapidocr")
    if spec is None or spec.origin is None:
        return None
    directory = os.path.join(os.path.dirname(spec.origin), "models")
    models = InstalledModels(version("rapidocr"), *(os.path.join(directory, name) for name in _MODELS))
    return models if os.path.isfile(models.detection) and os.path.isfile(models.reading) else None


class RapidOcr:
    """Reads pages on one thread; a process loads the models once, for its first page."""

    def __init__(self, installed: InstalledModels) -> None:
        self._installed = installed

    @property
    def name(self) -> str:
        """The name and version."""
        return f"the models of RapidOCR {self._installed.version}"

    @cached_property
    def recipe(self) -> str:
        """The version, the models, and all settings that affect the result."""
        hashes = " ".join(_short_hash(model) for model in (self._installed.detection, self._installed.reading))
        settings = f"side {_LONGEST_SIDE}, sure {_MIN_CONFIDENCE}, format {_FORMAT}"
        return f"rapidocr {self._installed.version}, {hashes}, {settings}"

    def recognise(self, page: Raster) -> Recognition:
        """Read an upright page.

        Raises:
            ExtractionError: a model cannot be loaded or run.
        """
        _, detection, reading = self._installed
        lines = lines_on(page, detection, reading, longest_side=_LONGEST_SIDE, min_confidence=_MIN_CONFIDENCE)
        return Recognition(f"rapidocr {self._installed.version}", tuple(lines), page.dpi)

    def turn_of(self, page: Raster) -> int:
        """Return the rotation that makes a page upright, by the direction in which its longest lines read best.

        Raises:
            ExtractionError: a model cannot be loaded or run.
        """
        return turn_of(page, self._installed.detection, self._installed.reading)


def _short_hash(path: str) -> str:
    with open(path, "rb") as file:
        return content_hash(file.read()).hex()[:8]


_MODELS: Final = ("PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx")
_FORMAT: Final = 1
"""Incremented when the same models would yield other lines."""

_LONGEST_SIDE: Final = 1280
"""Size of the image for detection: 960 lost a few lines, 1600 found no more and took 2.5 times as long."""

_MIN_CONFIDENCE: Final = 0.5
"""Lines below this confidence are dropped."""
