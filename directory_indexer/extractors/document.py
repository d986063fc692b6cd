"""Documents: the text of a file with its sections, cells and metadata."""

from typing import NamedTuple

from directory_indexer.scans import Scan


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
