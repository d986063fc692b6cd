"""The text of a file with its structure, as every extractor gives it."""

from typing import NamedTuple

from directory_indexer.scans import Scan


class Section(NamedTuple):
    """A stretch of a document that starts at character `start` and ends where the next one starts.

    `headings` is the path of headings or symbols, outermost first; `page` counts from 1. One that `is_apart` shares no
    passage with its neighbours, however short it is: the turn of a conversation.
    """

    start: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    is_apart: bool = False


class CellMark(NamedTuple):
    """The first cell of the row at character `start` of a document, as people name it: `Budget!A17`.

    It has no column where cells of the row were left out.
    """

    start: int
    cell: str


class Metadata(NamedTuple):
    """What a document says about itself beside its title; whatever it does not say is empty.

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
    """Of a message, as in its `From`: a name with an address, or one of them; so are `recipients` and `copied`."""

    recipients: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    message_id: str = ""
    thread: str = ""
    """The id of the message that a conversation began with."""

    n_pages: int | None = None
    """How many pages or slides it has."""


class Description(NamedTuple):
    """What whoever sent a document says about it; it counts for more than what the document says itself."""

    title: str = ""
    metadata: Metadata = Metadata()
    is_fetched: bool = False
    """Whether it came from the web: of a page, what people read counts then, and not the lines of its source."""


class FileFacts(NamedTuple):
    """What is known of a file beside its text; each has a column in the index by its name."""

    kind: str = ""
    title: str = ""
    language: str = ""
    """The first part of its BCP 47 tag, as the document says it or as it was recognised; of prose alone."""


class Document(NamedTuple):
    """The text of one file as one stream, with the places where headings, symbols and pages begin.

    For formats that are text already, `text` has the very lines of the file; for the others (PDF, notebooks) lines
    are counted in `text`. `sections` is sorted by `start` and its first entry, if any, starts at 0. `cells` is sorted
    by `start`, too: one mark for each row of a spreadsheet. `scans` are its pages that are pictures of text.
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
        """What the extractor has found out beside the text."""
        return FileFacts(self.kind, self.title, self.metadata.language)

    @property
    def page_starts(self) -> tuple[int, ...]:
        """Give the character at which each page begins; a page without text begins where the next one does."""
        starts: list[int] = []
        for section in self.sections:
            while section.page is not None and len(starts) < section.page:
                starts.append(section.start)
        return tuple(starts)
