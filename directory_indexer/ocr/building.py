"""Construction of OCR engines that are network services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from directory_indexer.lazy import lazily
from directory_indexer.ocr.engine import RemoteEngine
from directory_indexer.ocr.patience import Waiting
from directory_indexer.ocr.service import Access, ReadingService

with lazily:
    from directory_indexer.ocr.azure import AzureService
    from directory_indexer.ocr.gemini import GeminiService
    from directory_indexer.ocr.remote import RemoteReader


def build_remote_engine(name: str, access: Access, waiting: Waiting | None = None) -> RemoteEngine:
    """Build an engine by the name of its service, without a request to it.

    Raises:
        ProviderError: the address or the key is invalid.
    """
    return RemoteReader(SERVICES[name](access, waiting or Waiting()), concurrency=access.concurrency)


def _gemini(access: Access, waiting: Waiting) -> ReadingService:
    return GeminiService(access, waiting)


def _azure(access: Access, waiting: Waiting) -> ReadingService:
    return AzureService(access, waiting)


SERVICES: Final[dict[str, Callable[[Access, Waiting], ReadingService]]] = {"gemini": _gemini, "azure": _azure}
