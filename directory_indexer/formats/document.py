"""Documents: the text of a file with its sections, cells and metadata, made from headings or from plain text.

XML is one of them: in project files and settings the names of tags and attributes are what people look for. Data that
is embedded in a text (Base64, data URIs) stays too, for without it the lines would not be those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from directory_indexer.core.files import Scan
from directory_indexer.core.lazy import lazily

with lazily:
    import html


class Section(NamedTuple):
    """A range of a document from character `start` to the start of the next section.

    `headings` is the path of headings or symbols, outermost first; `page` counts from 1. A section that `is_apart`,
    such as a turn of a conversation, never shares a chunk with its neighbours, however short it is.
    """

    start: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    is_apart: bool = False


class CellMark(NamedTuple):
    """The name of the first cell of the row that begins at character `start`: `Budget!A17`.

    It has no column if cells of the row were left out.
    """

    start: int
    cell: str


class Metadata(NamedTuple):
    """Metadata of a document other than its title; what it does not declare is empty.

    Times are ISO 8601, as exact as the document has them: `2024`, `2024-05-01` or `2024-05-01T12:00:00+02:00`.
    """

    authors: tuple[str, ...] = ()
    created: str = ""
    modified: str = ""
    language: str = ""
    """The first part of its BCP 47 tag: `en`, `de`."""

    subject: str = ""
    tags: tuple[str, ...] = ()
    sender: tuple[str, ...] = ()
    """Of a message, as in its `From`: a name with an address, or either of them; likewise `recipients` and `copied`."""

    recipients: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    message_id: str = ""
    thread: str = ""
    """The id of the message that started the conversation."""

    camera: str = ""
    """The maker and the model of the camera that took a photo."""

    n_pages: int | None = None
    """The number of pages or slides."""


class Description(NamedTuple):
    """Metadata that the sender of a document supplies; it overrides what the document declares itself."""

    title: str = ""
    metadata: Metadata = Metadata()
    is_fetched: bool = False
    """Whether it came from the web: a page is then stored as its readable text, not as the lines of its source."""


class FileFacts(NamedTuple):
    """Facts about a file beside its text; each is stored in the index column of its name."""

    kind: str = ""
    title: str = ""
    language: str = ""
    """The first part of its BCP 47 tag, declared or detected; for prose alone."""


class Document(NamedTuple):
    """The text of one file as a single string, with the positions of headings, symbols and pages.

    For text formats `text` has the very lines of the file; for the others (PDF, notebooks) lines are counted in `text`.
    `sections` is sorted by `start` and its first entry, if any, starts at 0. `cells` is sorted by `start`, too: one
    mark for each row of a spreadsheet. `scans` are its pages that are pictures of text.
    """

    text: str
    kind: str
    title: str = ""
    sections: tuple[Section, ...] = ()
    cells: tuple[CellMark, ...] = ()
    metadata: Metadata = Metadata()
    scans: tuple[Scan, ...] = ()

    @property
    def facts(self) -> FileFacts:
        """The kind, title and language of the file."""
        return FileFacts(self.kind, self.title, self.metadata.language)

    @property
    def page_starts(self) -> tuple[int, ...]:
        """Return the character at which each page begins; a page without text begins where the next page does."""
        starts: list[int] = []
        for section in self.sections:
            while section.page is not None and len(starts) < section.page:
                starts.append(section.start)
        return tuple(starts)


_LONG_REFERENCE: Final = r"&#\d{1000,};?"
_MAX_TITLE_CHARACTERS: Final = 200
"""A heading goes into every chunk below it, so a hostile one must not multiply."""


class Heading(NamedTuple):
    """A heading that begins at character `start` of the text; level 1 is the outermost."""

    start: int
    level: int
    title: str


def sections_of(headings: Iterable[Heading]) -> tuple[Section, ...]:
    """Return a section for each heading, with the headings around it, and one for what precedes the first heading.

    A heading without a title closes those of its level.
    """
    sections = [Section(0)]
    path: list[Heading] = []
    for heading in headings:
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        section = Section(heading.start, tuple(outer.title for outer in path if outer.title))
        if section.start == sections[-1].start:
            sections[-1] = section
        else:
            sections.append(section)
    return tuple(sections)


def decode_references(text: str) -> str:
    """Decode the character references and entities of HTML in a text."""
    # Python refuses to convert so many digits, which stand for no character in any case.
    return html.unescape(re.sub(_LONG_REFERENCE, "\ufffd", text) if "&#" in text else text)


def single_line(title: str) -> str:
    """Return a title on one line of bounded length."""
    return " ".join(title[: 2 * _MAX_TITLE_CHARACTERS].split())[:_MAX_TITLE_CHARACTERS]


def extract_plain(text: str, kind: str) -> Document:
    """Return the text as it is."""
    return Document(text, kind)
