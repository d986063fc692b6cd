"""Selection of the OCR engine: the configured one, or else the best that is installed.

The models in RapidOCR's wheel are used without its code, which needs OpenCV and more. They know Latin, Chinese and
Japanese characters in any language. Of Greek they know the letters of formulas, without accents; of Cyrillic and other
alphabets nothing. Such pages have low confidence.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cached_property
from typing import Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, ProviderError
from directory_indexer.core.files import Recognition
from directory_indexer.core.ids import content_hash
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.limited_program import find_program
from directory_indexer.formats.pdf.raster import Raster
from directory_indexer.ocr.engine import LocalEngine
from directory_indexer.ocr.service import Access
from directory_indexer.parsing.policy import ParsePolicy

with lazily:
    from importlib.metadata import version

    from directory_indexer.ocr.page_reading import lines_on, turn_of
    from directory_indexer.ocr.reader import LocalReader, PageReader
    from directory_indexer.ocr.remote import ServiceReader, build_remote_engine
    from directory_indexer.ocr.tesseract import Tesseract, installed_tesseract

OFF: Final = "off"
AUTO: Final = "auto"

_INSTALL: Final = {
    AUTO: "install Tesseract (apt install tesseract-ocr, brew install tesseract), or `pip install --no-deps rapidocr`",
    "tesseract": "apt install tesseract-ocr, brew install tesseract, or set ocr.tesseract to its path",
    "rapidocr": "pip install --no-deps rapidocr",
}

_MODELS: Final = ("PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx")
_FORMAT: Final = 1
"""Incremented when the same models would yield other lines."""

_MAX_SIDE_PIXELS: Final = 1280
"""Size of the image for detection: 960 loses a few lines, 1600 finds no more and takes 2.5 times as long."""

_MIN_CONFIDENCE: Final = 0.5
"""Lines below this confidence are dropped."""


class OcrSettings(NamedTuple):
    """The engine, its languages, and its location: a command or a network service."""

    engine: str = AUTO
    languages: Sequence[str] = ()
    tesseract: str = "tesseract"
    service: Access | None = None


class ConfiguredOcr:
    """The configured OCR engine, its cost, and advice if there is none."""

    def __init__(self, settings: OcrSettings, policy: Callable[[], ParsePolicy]) -> None:
        self._settings = settings
        self._policy = policy

    def reader(self) -> PageReader | None:
        """Return the configured page reader, or None if there is none.

        Pages that a service refuses are read by an engine on this machine, if one is installed.

        Raises:
            ProviderError: the configured engine is not installed, cannot be run, or lacks what is configured.
        """
        settings = self._settings
        if settings.engine == OFF:
            return None
        if settings.service is not None:
            installed = _installed_engine(settings)
            fallback = LocalReader(installed, self._policy()) if installed else None
            return ServiceReader(settings.engine, settings.service, self._policy(), fallback)
        engine = _engine(settings)
        return LocalReader(engine, self._policy()) if engine else None

    def name(self) -> str | None:
        """Return the engine with its version and languages, or the service; None if OCR is off or unavailable.

        Raises:
            ProviderError: as for `reader`.
        """
        settings = self._settings
        if settings.engine == OFF:
            return None
        if settings.service is not None:
            with closing(build_remote_engine(settings.engine, settings.service)) as service:
                return f"{settings.engine}: {settings.service.model} of {service.place}"
        engine = _engine(settings)
        return engine.name if engine else None

    def check(self) -> None:
        """Validate the configuration of the service without a request to it.

        Raises:
            ProviderError: its address or its key is missing or invalid.
        """
        if self._settings.service is not None:
            build_remote_engine(self._settings.engine, self._settings.service).close()

    def advice(self) -> str:
        """Return what to do so that pages are read; "" if nothing is missing."""
        settings = self._settings
        if settings.engine == OFF:
            return "ocr.engine is off"
        if settings.engine == AUTO and not any(is_there(settings) for is_there in _IS_INSTALLED.values()):
            return f"no OCR engine is installed: {_INSTALL[AUTO]}"
        try:
            self.check()
        except ProviderError as error:
            return f"{error.message}: {error.hint}"
        return ""

    def cost(self, n_pages: int) -> str:
        """Format the estimated cost of some pages with the configured service; "" for an engine on this machine.

        An incomplete configuration is reported instead.
        """
        service = self._settings.service
        if service is None:
            return ""
        try:
            with closing(build_remote_engine(self._settings.engine, service)) as engine:
                estimate = engine.estimate()
        except ProviderError as error:
            return f"{error.message}: {error.hint}"
        tokens = estimate.n_input_tokens * n_pages, estimate.n_output_tokens * n_pages
        counted = f", about {tokens[0]:,} tokens sent and {tokens[1]:,} received" if any(tokens) else ""
        return f"{service.model} counts {n_pages:,} {'page' if n_pages == 1 else 'pages'}{counted}"


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
        settings = f"side {_MAX_SIDE_PIXELS}, sure {_MIN_CONFIDENCE}, format {_FORMAT}"
        return f"rapidocr {self._installed.version}, {hashes}, {settings}"

    def recognise(self, page: Raster) -> Recognition:
        """Read an upright page.

        Raises:
            ExtractionError: a model cannot be loaded or run.
        """
        _, detection, reading = self._installed
        lines = lines_on(page, detection, reading, longest_side=_MAX_SIDE_PIXELS, min_confidence=_MIN_CONFIDENCE)
        return Recognition(f"rapidocr {self._installed.version}", tuple(lines), page.dpi)

    def turn_of(self, page: Raster) -> int:
        """Return the rotation that makes a page upright, by the direction in which its longest lines read best.

        Raises:
            ExtractionError: a model cannot be loaded or run.
        """
        return turn_of(page, self._installed.detection, self._installed.reading)


def _engine(settings: OcrSettings) -> LocalEngine | None:
    engine = _ENGINES[settings.engine](settings)
    if engine is None and settings.engine != AUTO:
        raise ProviderError(f"ocr.engine is {settings.engine}, which is not installed", hint=_INSTALL[settings.engine])
    return engine


def _installed_engine(settings: OcrSettings) -> LocalEngine | None:
    for name in _IS_INSTALLED:
        if engine := _ENGINES[name](settings):
            return engine
    return None


def _tesseract(settings: OcrSettings) -> LocalEngine | None:
    try:
        installed = installed_tesseract(settings.tesseract)
    except ExtractionError as error:
        raise ProviderError(error.message, hint="set ocr.tesseract to its command, or ocr.engine to off") from error
    if installed is None:
        return None
    missing = [language for language in settings.languages if language not in installed.languages]
    if missing:
        has = ", ".join(installed.languages)
        raise ProviderError(f"Tesseract has no data for {', '.join(missing)} of ocr.languages", hint=f"it has: {has}")
    return Tesseract(installed, settings.languages)


def _has_tesseract(settings: OcrSettings) -> bool:
    return os.path.isfile(find_program(settings.tesseract))


def _rapidocr(_: OcrSettings) -> LocalEngine | None:
    installed = installed_models()
    return RapidOcr(installed) if installed else None


def _has_rapidocr(_: OcrSettings) -> bool:
    return installed_models() is not None


def _short_hash(path: str) -> str:
    with open(path, "rb") as file:
        return content_hash(file.read()).hex()[:8]


_IS_INSTALLED: Final[dict[str, Callable[[OcrSettings], bool]]] = {
    "tesseract": _has_tesseract,
    "rapidocr": _has_rapidocr,
}
"""Engines on this machine, the best first."""

_ENGINES: Final[dict[str, Callable[[OcrSettings], LocalEngine | None]]] = {
    AUTO: _installed_engine,
    "tesseract": _tesseract,
    "rapidocr": _rapidocr,
}
