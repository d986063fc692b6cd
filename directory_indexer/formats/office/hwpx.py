"""Documents of Hancom Office (HWPX, OWPML KS X 6101): text, tables, text boxes and notes of all sections in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import BinaryIO, Final

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.blocks import BlockBuilder, write_block
from directory_indexer.formats.containers import Budget, Contents, read_whole
from directory_indexer.formats.document import Metadata
from directory_indexer.formats.draft import MAX_COLUMN_SPAN, MAX_ROW_SPAN, Draft, span
from directory_indexer.formats.metadata import (
    distinct_values,
    iso_time,
    primary_language,
    single_line_value,
    split_list,
)
from directory_indexer.formats.packages import Package
from directory_indexer.formats.xml_events import XmlValues, read_xml


def is_hwpx(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a document of Hancom Office, by its first entry or by its name."""
    return head.startswith(_ZIP) and (has_extension or head.startswith(_MEDIA_TYPE, _FIRST_NAME))


def open_hwpx(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a document.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged, and nothing of it can be read.
    """
    package = Package(read_whole(file), budget)
    sections = {int(match[1]): part for part in package.names() if (match := _SECTION.fullmatch(part))}
    if not sections:
        raise ExtractionError("damaged document of Hancom Office: it has no sections")
    draft = Draft()
    body = _Body(draft)
    problems = [read_xml(package.pieces(part), body, skipped=_SKIPPED) for _, part in sorted(sections.items())]
    if draft.is_empty and (problem := next(filter(None, problems), None)):
        raise problem
    properties = _Properties()
    read_xml(package.pieces("Contents/content.hpf"), properties, skipped=frozenset({"manifest", "spine"}))
    return Contents(draft.document(kind, properties.first("title"), properties.metadata))


class _Properties(XmlValues):
    """Collects the properties of a document, in elements named by an attribute."""

    @property
    def metadata(self) -> Metadata:
        return Metadata(
            authors=distinct_values(self.all("creator")),
            created=iso_time(self.first("CreatedDate")),
            modified=iso_time(self.first("ModifiedDate")),
            language=primary_language(self.first("language")),
            subject=single_line_value(self.first("subject")),
            tags=split_list(self.first("keyword")),
        )

    def __init__(self) -> None:
        super().__init__()
        self._name = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        super().start(name, attributes)
        self._name = attributes.get("name", "") if name == "meta" else name

    def end(self, _name: str) -> None:
        super().end(self._name)


class _Body:
    """Turns the elements of sections into a story."""

    def __init__(self, draft: Draft) -> None:
        self._story = story = BlockBuilder(partial(write_block, draft=draft))
        self._n_texts = 0
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "p": lambda _: story.begin_paragraph(),
            "tbl": lambda _: story.tables.begin(),
            "tr": lambda _: story.tables.begin_row(),
            "tc": lambda _: story.tables.begin_cell(),
            "cellSpan": self._span_cell,
            **dict.fromkeys(_ASIDES, lambda _: story.begin_aside()),
            **{name: partial(self._write, text) for name, text in _CHARACTERS.items()},
        }
        self._ends: dict[str, Callable[[], None]] = {
            "p": story.end_paragraph,
            "tbl": story.tables.end,
            "tc": story.tables.end_cell,
            **dict.fromkeys(_ASIDES, story.end_aside),
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._n_texts += name in _TEXTS
        if begin := self._starts.get(name):
            begin(attributes)

    def text(self, text: str) -> None:
        if self._n_texts:
            self._story.write(text)

    def end(self, name: str) -> None:
        self._n_texts -= name in _TEXTS
        if end := self._ends.get(name):
            end()

    def _write(self, text: str, _: dict[str, str]) -> None:
        self._story.write(text)

    def _span_cell(self, attributes: dict[str, str]) -> None:
        if cell := self._story.tables.cell:
            cell.n_columns = span(attributes.get("colSpan", ""), MAX_COLUMN_SPAN)
            cell.n_rows = span(attributes.get("rowSpan", ""), MAX_ROW_SPAN)


_ZIP: Final = b"PK\3\4"
_FIRST_NAME: Final = 30
_MEDIA_TYPE: Final = b"mimetypeapplication/hwp+zip"
_SECTION: Final = re.compile(r"Contents/section(\d{1,6})\.xml", re.IGNORECASE)
_SKIPPED: Final = frozenset({"linesegarray", "shapeComment", "secPr"})
_TEXTS: Final = frozenset({"t", "script"})
"""Text, and formulas in their typed form."""

_ASIDES: Final = frozenset("drawText footNote endNote header footer caption".split())
_CHARACTERS: Final = {"tab": "\t", "lineBreak": "\n", "nbSpace": " ", "fwSpace": " ", "hyphen": "-"}
