"""Selection of the OCR engine: the configured one, or else the best that is installed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from directory_indexer.errors import ExtractionError, ProviderError
from directory_indexer.extractors.external.processes import program_of
from directory_indexer.lazy import lazily
from directory_indexer.ocr.engine import LocalEngine, PageEstimate, RemoteEngine
from directory_indexer.ocr.service import Access
from directory_indexer.parsing.policy import ParsePolicy

with lazily:
    from directory_indexer.ocr.building import build_remote_engine
    from directory_indexer.ocr.rapidocr import RapidOcr, installed_models
    from directory_indexer.ocr.reader import LocalReader, PageReader
    from directory_indexer.ocr.service_reader import ServiceReader
    from directory_indexer.ocr.tesseract import Tesseract, installed_tesseract

Answer = TypeVar("Answer")

OFF: Final = "off"
AUTO: Final = "auto"


class OcrSettings(NamedTuple):
    """The engine, its languages, and its location: a command or a network service."""

    engine: str = AUTO
    languages: Sequence[str] = ()
    tesseract: str = "tesseract"
    service: Access | None = None


class PageReading:
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
            place = _with_service(settings.engine, settings.service, _place)
            return f"{settings.engine}: {settings.service.model} of {place}"
        engine = _engine(settings)
        return engine.name if engine else None

    def check(self) -> None:
        """Validate the configuration of the service without a request to it.

        Raises:
            ProviderError: its address or its key is missing or invalid.
        """
        if self._settings.service is not None:
            _with_service(self._settings.engine, self._settings.service, _place)

    def advice(self) -> str:
        """Return what to do so that pages are read; "" if nothing is missing."""
        settings = self._settings
        if settings.engine == OFF:
            return "ocr.engine is off"
        if settings.engine == AUTO and not any(is_there(settings) for is_there in _IS_INSTALLED.values()):
            return f"nothing is installed that reads them: {_INSTALL[AUTO]}"
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
            estimate = _with_service(self._settings.engine, service, _estimate)
        except ProviderError as error:
            return f"{error.message}: {error.hint}"
        tokens = estimate.n_input_tokens * n_pages, estimate.n_output_tokens * n_pages
        counted = f", about {tokens[0]:,} tokens sent and {tokens[1]:,} received" if any(tokens) else ""
        return f"{service.model} counts {n_pages:,} {'page' if n_pages == 1 else 'pages'}{counted}"


def _with_service(name: str, access: Access, ask: Callable[[RemoteEngine], Answer]) -> Answer:
    engine = build_remote_engine(name, access)
    try:
        return ask(engine)
    finally:
        engine.close()


def _place(engine: RemoteEngine) -> str:
    return engine.place


def _estimate(engine: RemoteEngine) -> PageEstimate:
    return engine.estimate()


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
    return os.path.isfile(program_of(settings.tesseract))


def _rapidocr(_: OcrSettings) -> LocalEngine | None:
    installed = installed_models()
    return RapidOcr(installed) if installed else None


def _has_rapidocr(_: OcrSettings) -> bool:
    return installed_models() is not None


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
_INSTALL: Final = {
    AUTO: "install Tesseract (apt install tesseract-ocr, brew install tesseract), or `pip install --no-deps rapidocr`",
    "tesseract": "apt install tesseract-ocr, brew install tesseract, or set ocr.tesseract to its path",
    "rapidocr": "pip install --no-deps rapidocr",
}
