"""The boundary behind which engines read pages."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from directory_indexer.extractors.pdf.raster import EncodedPage, Raster
from directory_indexer.scans import Recognition

__all__ = ["EncodedPage", "LocalEngine", "PageEstimate", "ReadingUsage", "RemoteEngine"]


class LocalEngine(Protocol):
    """Reads the pixels of a page on this machine. It travels to worker processes: its state before use is plain values.

    What an engine costs is limited by those who run it: it may be ended at any moment.
    """

    @property
    def name(self) -> str:
        """Name the engine for people, with its version and the languages that it is good for, if it has any."""

    @property
    def recipe(self) -> str:
        """Name the engine, its version and all settings that change what it reads."""

    def recognise(self, page: Raster) -> Recognition:
        """Read a page that stands upright.

        Raises:
            ExtractionError: the engine cannot be run, or gives up.
        """

    def turn_of(self, page: Raster) -> int:
        """Tell by how many degrees clockwise, 0, 90, 180 or 270, a page must be turned to stand upright."""


class PageEstimate(NamedTuple):
    """About what a page costs with a service: tokens where it counts these, nothing but the page where it does not."""

    n_input_tokens: int = 0
    n_output_tokens: int = 0


class ReadingUsage(NamedTuple):
    """What a service has read since its engine was made; the tokens are as it counts them."""

    n_pages: int = 0
    n_input_tokens: int = 0
    n_output_tokens: int = 0


class RemoteEngine(Protocol):
    """Reads pages with a service on the network; threads may share it. A page may be turned: services see that."""

    @property
    def recipe(self) -> str:
        """Name the service, its model and version, and the version of what it is told."""

    @property
    def place(self) -> str:
        """Name the service and its address, for messages."""

    @property
    def concurrency(self) -> int:
        """How many pages it is best given at a time."""

    @property
    def usage(self) -> ReadingUsage:
        """What it has read so far."""

    def estimate(self) -> PageEstimate:
        """Tell about what a page will cost, without asking the service."""

    def recognise(self, image: EncodedPage) -> Recognition:
        """Read a page.

        Raises:
            PageRefusedError: the service reads pages, and will never read this one.
            ProviderError: the service cannot be used now, for no page.
        """

    def close(self) -> None:
        """Close the connections."""
