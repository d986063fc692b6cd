"""A page that is to be read, and what that came to."""

from __future__ import annotations

from typing import NamedTuple

from directory_indexer.extractors.pdf.raster import EncodedPage
from directory_indexer.files import SourceFile
from directory_indexer.paths import FilePath
from directory_indexer.scans import PageKey, PageProblem, Recognition


class PageRequest(NamedTuple):
    """A page to read, of the document at `path`; `on_disk` is the file, or the container that it lies in."""

    path: FilePath
    on_disk: SourceFile
    page: int
    key: PageKey


class PageOutcome(NamedTuple):
    """What reading a page came to; None where the page is not there any more as it was.

    `refusal` is why the service that is configured did not read it, `fault` why no page is to be had of an engine.
    """

    key: PageKey
    found: Recognition | PageProblem | None
    refusal: str = ""
    fault: str = ""


class DrawnPage(NamedTuple):
    """A page as a picture to be sent, or what keeps it from being drawn."""

    key: PageKey
    page: EncodedPage | PageProblem | None
