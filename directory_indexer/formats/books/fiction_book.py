"""FictionBook 2: one XML file with sections, poems, tables and notes, and the description of the book."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from directory_indexer.formats.blocks import BlockBuilder, write_block
from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.draft import MAX_COLUMN_SPAN, MAX_ROW_SPAN, Draft, span
from directory_indexer.formats.metadata import distinct_values, iso_time, primary_language, split_list
from directory_indexer.formats.xml_events import XmlValues, read_xml


def extract_fiction_book(text: str, kind: str) -> Document:
    """Read a book.

    Raises:
        SkipFileError: it has more text than is read.
        ExtractionError: it is damaged, and nothing of it can be read.
    """
    description, book = _Description(), _Book()
    read_xml([text], description, skipped=_OUTSIDE_DESCRIPTION)
    problem = read_xml([text], book, skipped=_OUTSIDE_TEXT)
    if problem and book.draft.is_empty:
        raise problem
    return book.draft.document(kind, description.first("book-title"), description.metadata)


class _Description(XmlValues):
    """Collects the description of a book."""

    def __init__(self) -> None:
        super().__init__()
        self._authors: list[str] = []
        self._names: list[str] = []
        self._date = ""

    @property
    def metadata(self) -> Metadata:
        return Metadata(
            authors=distinct_values(self._authors),
            created=iso_time(self._date) or iso_time(self.first("date")),
            language=primary_language(self.first("lang")),
            tags=distinct_values(
                (*self.all("genre"), *(tag for words in self.all("keywords") for tag in split_list(words)))
            ),
        )

    def start(self, name: str, attributes: dict[str, str]) -> None:
        super().start(name, attributes)
        if name == "author":
            self._names.clear()
        elif name == "date":
            self._date = attributes.get("value", "")

    def text(self, text: str) -> None:
        super().text(text)
        if len(self._names) < _MAX_NAMES and not text.isspace():
            self._names.append(text.strip())

    def end(self, name: str) -> None:
        super().end(name)
        if name == "author":
            self._authors.append(" ".join(self._names))


class _Book:
    """Builds a document from elements; titles are headings at the depth of their sections."""

    def __init__(self) -> None:
        self.draft = Draft()
        self._story = story = BlockBuilder(partial(write_block, draft=self.draft))
        self._depth = 0
        """The depth of sections."""

        self._title: list[str] | None = None
        """The pieces of the open title."""

        self._is_implicit = False
        """Whether the open paragraph has no element of its own, as for dates of poems and code."""

        self._is_superscript = False
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "section": self._begin_section,
            "title": self._begin_title,
            "table": lambda _: story.tables.begin(),
            "tr": lambda _: story.tables.begin_row(),
            **dict.fromkeys(_CELLS, self._begin_cell),
            **dict.fromkeys(_PARAGRAPHS, self._begin_paragraph),
        }
        self._ends: dict[str, Callable[[], None]] = {
            "section": self._end_section,
            "title": self._end_title,
            "table": story.tables.end,
            **dict.fromkeys(_CELLS, self._end_cell),
            **dict.fromkeys(_PARAGRAPHS, self._end_paragraph),
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sup":
            self._is_superscript = True
        elif begin := self._starts.get(name):
            self._end_implicit_paragraph()
            begin(attributes)

    def text(self, text: str) -> None:
        if self._title is not None:
            self._title.append(text)
            return
        if self._depth and not self._story.is_in_paragraph and not text.isspace():
            self._story.begin_paragraph()
            self._is_implicit = True
        (self._story.write_superscript if self._is_superscript else self._story.write)(_SPACES.sub(" ", text))

    def end(self, name: str) -> None:
        if name == "sup":
            self._is_superscript = False
        elif end := self._ends.get(name):
            self._end_implicit_paragraph()
            end()

    def _end_implicit_paragraph(self) -> None:
        if self._is_implicit:
            self._is_implicit = False
            self._story.end_paragraph()

    def _begin_section(self, _: dict[str, str]) -> None:
        self._depth += 1

    def _end_section(self) -> None:
        self._depth -= 1

    def _begin_title(self, _: dict[str, str]) -> None:
        self._title = []

    def _end_title(self) -> None:
        title = "".join(self._title or ())
        self._title = None
        self.draft.heading(self._depth + 1, title)

    def _begin_paragraph(self, _: dict[str, str]) -> None:
        if self._title is None:
            self._story.begin_paragraph()
        else:
            self._title.append(" ")

    def _end_paragraph(self) -> None:
        self._story.end_paragraph()

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        columns = span(attributes.get("colspan", ""), MAX_COLUMN_SPAN)
        self._story.tables.begin_cell(columns, span(attributes.get("rowspan", ""), MAX_ROW_SPAN))
        self._story.begin_paragraph()

    def _end_cell(self) -> None:
        self._story.end_paragraph()
        self._story.tables.end_cell()


_CELLS: Final = frozenset({"td", "th"})
_PARAGRAPHS: Final = frozenset({"p", "v", "subtitle", "text-author"})
_OUTSIDE_DESCRIPTION: Final = frozenset(
    {"body", "binary", "stylesheet", "annotation", "document-info", "publish-info", "src-title-info", "custom-info"}
)
"""Elements that do not describe the book itself: its text, its file, its printed edition, its original."""

_OUTSIDE_TEXT: Final = _OUTSIDE_DESCRIPTION - {"body", "annotation"}
_SPACES: Final = re.compile(r"\s+")
_MAX_NAMES: Final = 8
