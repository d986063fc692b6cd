"""OCR by a network service, with attribution of failures to the page or to the service.

A page is only given up if the service reads others. If that is unknown, the service is sent an empty page, so that
neither a wrong setting makes every page unreadable, nor one bad page ends a run.
"""

from __future__ import annotations

import struct
import threading
import zlib
from typing import Final

from directory_indexer.errors import PageRefusedError, ProviderError
from directory_indexer.extractors.pdf.raster import EncodedPage
from directory_indexer.ocr.engine import PageEstimate, ReadingUsage
from directory_indexer.ocr.patience import RequestError, Trouble
from directory_indexer.ocr.service import ReadingService, Transcript
from directory_indexer.scans import Recognition
from directory_indexer.telemetry import spans


class RemoteReader:
    """Reads pages with one model of a service; thread-safe."""

    def __init__(self, service: ReadingService, *, concurrency: int) -> None:
        self.concurrency = concurrency
        self._service = service
        self._lock = threading.Lock()
        self._usage = ReadingUsage()

    @property
    def recipe(self) -> str:
        """The service, its model and version, and the version of the prompt."""
        return self._service.recipe

    @property
    def place(self) -> str:
        """The service and its address, for messages."""
        return self._service.calls.place

    @property
    def usage(self) -> ReadingUsage:
        """The pages read so far."""
        return self._usage

    def estimate(self) -> PageEstimate:
        """Return the estimated cost of a page, without a request."""
        return self._service.estimate()

    def recognise(self, image: EncodedPage) -> Recognition:
        """Read a page.

        Raises:
            PageRefusedError: the service reads pages, and will never read this one.
            ProviderError: the service cannot be used now, for no page.
        """
        n_before = self._usage.n_pages
        try:
            with spans.span("read page", bytes_in=len(image.content)):
                transcript = self._service.read(image, until=self._service.calls.patience.deadline())
        except RequestError as error:
            raise self._attributed(error, n_before) from error
        self._count(transcript)
        return Recognition(self.recipe, transcript.lines, image.dpi)

    def close(self) -> None:
        """Close the connections."""
        self._service.calls.close()

    def _attributed(self, error: RequestError, n_before: int) -> PageRefusedError | ProviderError:
        message = f"{self._service.calls.place} {error.message}"
        if error.trouble in _HINTS:
            return ProviderError(message, hint=_HINTS[error.trouble])
        n_needed = 0 if error.trouble is Trouble.REFUSED else n_before
        if self._usage.n_pages > n_needed or self._reads_an_empty_page():
            return PageRefusedError(message)
        return ProviderError(f"{message}; an empty page fares no better", hint="run dirindex index again later")

    def _reads_an_empty_page(self) -> bool:
        try:
            self._count(self._service.read(_EMPTY_PAGE, until=self._service.calls.patience.deadline()))
        except RequestError:
            return False
        except PageRefusedError:
            return True
        return True

    def _count(self, transcript: Transcript) -> None:
        with self._lock:
            n_pages, n_input, n_output = self._usage
            self._usage = ReadingUsage(
                n_pages + 1, n_input + transcript.n_input_tokens, n_output + transcript.n_output_tokens
            )


def _white(size: int) -> EncodedPage:
    """Return a white PNG; every service accepts images of 50 pixels and more."""
    rows = zlib.compress((b"\0" + b"\xff" * size) * size)
    chunks = (b"IHDR" + struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0), b"IDAT" + rows, b"IEND")
    packed = (struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)
    return EncodedPage(b"\x89PNG\r\n\x1a\n" + b"".join(packed), "image/png", size, size)


_EMPTY_PAGE: Final = _white(128)
_HINTS: Final = {
    Trouble.UNREACHABLE: "check the network and the endpoint of the service; pages wait until a run reaches it",
    Trouble.THROTTLED: "run dirindex index again later, or lower the concurrency of the service; what is read is kept",
}
