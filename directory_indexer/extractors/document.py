"""The text of a file with its structure, as every extractor gives it."""

from typing import NamedTuple


class Section(NamedTuple):
    """A stretch of a document that starts at character `start` and ends where the next one starts.

    `headings` is the path of headings or symbols, outermost first; `page` counts from 1.
    """

    start: int
    headings: tuple[str, ...] = ()
    page: int | None = None


class FileFacts(NamedTuple):
    """What is known of a file beside its text; each has a column in the index by its name."""

    kind: str = ""
    title: str = ""


class Document(NamedTuple):
    """The text of one file as one stream, with the places where headings, symbols and pages begin.

    For formats that are text already, `text` has the very lines of the file; for the others (PDF, notebooks) lines
    are counted in `text`. `sections` is sorted by `start` and its first entry, if any, starts at 0.
    """

    text: str
    kind: str
    title: str = ""
    sections: tuple[Section, ...] = ()

    @property
    def facts(self) -> FileFacts:
        """What the extractor has found out beside the text."""
        return FileFacts(self.kind, self.title)

    @property
    def page_starts(self) -> tuple[int, ...]:
        """Give the character at which each page begins; a page without text begins where the next one does."""
        starts: list[int] = []
        for section in self.sections:
            while section.page is not None and len(starts) < section.page:
                starts.append(section.start)
        return tuple(starts)
