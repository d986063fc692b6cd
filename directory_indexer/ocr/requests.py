"""Requests and outcomes of reading a page."""

from __future__ import annotations

from typing import NamedTuple

from directory_indexer.core.files import PageKey, PageProblem, Recognition, SourceFile
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.pdf.raster import EncodedPage


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
