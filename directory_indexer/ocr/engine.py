"""Interface of OCR engines, and the records of their work: requests, rendered pages and outcomes.

Workers return these records, so nothing but records and interfaces belongs here.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from directory_indexer.core.files import PageKey, PageProblem, Recognition, SourceFile
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.pdf.raster import EncodedPage, Raster


class PageRequest(NamedTuple):
    """A page to read, of the document at `path`; `on_disk` is the file or its outermost container."""

    path: FilePath
    on_disk: SourceFile
    page: int
    key: PageKey


class PageOutcome(NamedTuple):
    """The outcome of reading a page; None if the page is gone or has changed.

    `refusal` is why the configured service did not read it, `fault` why the engine can read no page at all.
    """

    key: PageKey
    recognition: Recognition | PageProblem | None
    refusal: str = ""
    fault: str = ""


class RenderedPage(NamedTuple):
    """A rendered page to be sent, or the reason why it cannot be rendered."""

    key: PageKey
    page: EncodedPage | PageProblem | None


class LocalEngine(Protocol):
    """Reads the pixels of a page on this machine.

    It is pickled for worker processes: its initial state is plain values. Its caller enforces limits: it may be ended
    at any moment.
    """

    @property
    def name(self) -> str:
        """Name of the engine for people, with its version and languages, if any."""

    @property
    def recipe(self) -> str:
        """The engine, its version and all settings that affect the result."""

    def recognise(self, page: Raster) -> Recognition:
        """Read an upright page.

        Raises:
            ExtractionError: the engine cannot be run, or gives up.
        """

    def turn_of(self, page: Raster) -> int:
        """Return the clockwise rotation, 0, 90, 180 or 270 degrees, that makes a page upright."""


class PageEstimate(NamedTuple):
    """Estimated cost of a page with a service: tokens if it counts these, else only the page."""

    n_input_tokens: int = 0
    n_output_tokens: int = 0


class OcrUsage(NamedTuple):
    """Pages that a service has read since its engine was created; tokens as the service counts them."""

    n_pages: int = 0
    n_input_tokens: int = 0
    n_output_tokens: int = 0


class RemoteEngine(Protocol):
    """Reads pages with a network service; thread-safe. A page may be rotated: services detect that."""

    @property
    def recipe(self) -> str:
        """The service, its model and version, and the version of the prompt."""

    @property
    def place(self) -> str:
        """The service and its address, for messages."""

    @property
    def concurrency(self) -> int:
        """The optimal number of concurrent pages."""

    @property
    def usage(self) -> OcrUsage:
        """The pages read so far."""

    def estimate(self) -> PageEstimate:
        """Return the estimated cost of a page, without a request."""

    def recognise(self, image: EncodedPage) -> Recognition:
        """Read a page.

        Raises:
            PageRefusedError: the service reads pages, and will never read this one.
            ProviderError: the service cannot be used now, for no page.
        """

    def close(self) -> None:
        """Close the connections."""
