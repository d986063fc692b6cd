"""Office documents in a single XML file: those of Office 2003, and flat OPC packages."""

from __future__ import annotations

import base64
import binascii
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.decoding import decode
from directory_indexer.formats.document import Document
from directory_indexer.formats.draft import Draft
from directory_indexer.formats.office.docx import SKIPPED, DocxBody
from directory_indexer.formats.office.docx_styles import Numbering, StyleForms, Styles
from directory_indexer.formats.office.number_formats import EPOCH, NumberFormats
from directory_indexer.formats.office.ooxml_parts import DocumentProperties, properties_of
from directory_indexer.formats.office.sheets import Sheet, SheetCell, column_name
from directory_indexer.formats.office.signatures import office_xml_kind
from directory_indexer.formats.raised_marks import InlineText
from directory_indexer.formats.xml_events import XmlValues, read_xml


def zip_flat_package(content: bytes, budget: Budget) -> bytes:
    """Return a package in a single XML file as a ZIP package.

    Raises:
        SkipFileError: it is no text, or is more than is read.
    """
    parts: dict[str, bytes] = {}
    for name, part in _parts(decode(content)):
        budget.take(len(part))
        parts.setdefault(name, part)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as package:
        for name, part in parts.items():
            package.writestr(name, part)
    return target.getvalue()


def read_office_2003(content: bytes) -> Document:
    """Read a document of Word 2003 or a workbook of Excel 2003.

    Raises:
        SkipFileError: it is more than is read.
        ExtractionError: it is damaged, and nothing of it can be read.
    """
    draft = Draft()
    is_word = office_xml_kind(content) == "docx"
    problem = _read_word(content, draft) if is_word else read_xml([content], _Workbook(draft))
    if problem and draft.is_empty:
        raise problem
    title, metadata = _properties(content)
    return draft.document("docx" if is_word else "xlsx", title, metadata)


def _parts(text: str) -> Iterator[tuple[str, bytes]]:
    """Yield the parts of a package in a single file; an unclosed one extends to the end of the file."""
    name, at = "", 0
    while match := _PART.search(text, at):
        at = match.end()
        if match["part"]:
            name_match = _PART_NAME.search(match["attributes"])
            name = name_match[1].lstrip("/") if name_match else ""
            continue
        end = text.find(f"</{match['tag']}", at)
        data = text[at : None if end < 0 else end]
        if 0 < len(name) <= _MAX_NAME:
            yield name, data.encode() if match["xml"] else _decode_base64(data)
        name, at = "", len(text) if end < 0 else end


def _decode_base64(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return b""


def _properties(content: bytes) -> DocumentProperties:
    xml_values = XmlValues()
    read_xml([content], xml_values, skipped=_NO_PROPERTIES)
    return properties_of(lambda name: xml_values.first(_PROPERTIES.get(name, name)))


def _read_word(content: bytes, draft: Draft) -> ExtractionError | None:
    styles = StyleForms()
    read_xml([content], styles, skipped=frozenset({"body"}))
    body = _WordBody(DocxBody(draft, Styles(styles.forms, Numbering({}, {})), {}))
    problem = read_xml([content], body, skipped=SKIPPED | _NO_WORD_TEXT)
    body.finish()
    return problem


class _WordBody:
    """Passes the elements of Word 2003 on under their later names; notes, headers and footers are in its text."""

    def __init__(self, body: DocxBody) -> None:
        self._body = body
        self._are_comments: list[bool] = []
        """For each open annotation, whether it is a comment; changes are annotations, too."""

        self.text, self.finish = body.text, body.write_unplaced_notes

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "annotation":
            self._are_comments.append(attributes.get("type") == "Word.Comment")
            name = _ASIDE if self._are_comments[-1] else name
        if name != "t" or "val" not in attributes:  # a `t` with a value is the mark of an item
            self._body.start(_NAMES.get(name, name), attributes)

    def end(self, name: str) -> None:
        if name == "annotation" and self._are_comments.pop():
            name = _ASIDE
        self._body.end(_NAMES.get(name, name))


class _Workbook:
    """Turns the elements of an Excel 2003 workbook into rows; those without an index follow the previous one."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._codes: list[str] = []
        self._styles: dict[str, str] = {}
        """The numbers of formats, by the ids of styles."""

        self._formats = NumberFormats([], has_1904_epoch=False)
        self._style = self._type = self._author = ""
        self._sheet: Sheet | None = None
        self._row = self._column = 0
        self._cells: list[SheetCell] = []
        self._comments: list[str] = []
        self._is_data = self._is_comment = self._is_superscript = False
        self._text = InlineText()
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "Style": lambda attributes: self._set_style(attributes.get("ID", "")),
            "NumberFormat": self._add_format,
            "Worksheet": self._begin_sheet,
            "Row": self._begin_row,
            "Cell": self._begin_cell,
            "Comment": lambda attributes: self._set_comment(attributes.get("Author", ""), is_comment=True),
            "Data": self._begin_data,
            "Sup": lambda _: self._set_superscript(is_superscript=True),
        }
        self._ends: dict[str, Callable[[], None]] = {
            "Worksheet": self._end_sheet,
            "Row": self._end_row,
            "Comment": lambda: self._set_comment("", is_comment=False),
            "Data": self._end_data,
            "Sup": lambda: self._set_superscript(is_superscript=False),
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if begin := self._starts.get(name):
            begin(attributes)

    def text(self, text: str) -> None:
        if self._is_data:
            (self._text.write_superscript if self._is_superscript else self._text.write)(text)

    def end(self, name: str) -> None:
        if end := self._ends.get(name):
            end()

    def _set_style(self, style: str) -> None:
        self._style = style

    def _add_format(self, attributes: dict[str, str]) -> None:
        code = attributes.get("Format", "")[:_MAX_CODE]
        self._styles[self._style] = str(len(self._codes))
        self._codes.append(_NAMED_FORMATS.get(code, code))

    def _begin_sheet(self, attributes: dict[str, str]) -> None:
        self._formats = NumberFormats(self._codes, has_1904_epoch=False)
        self._sheet = Sheet(attributes.get("Name", ""), self._draft)
        self._row = 0

    def _begin_row(self, attributes: dict[str, str]) -> None:
        self._row = _index(attributes) or self._row + 1
        self._column = -1

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        index = _index(attributes)
        self._column = index - 1 if index else self._column + 1
        self._style = attributes.get("StyleID", "")

    def _set_comment(self, author: str, *, is_comment: bool) -> None:
        self._author, self._is_comment = author, is_comment

    def _set_superscript(self, *, is_superscript: bool) -> None:
        self._is_superscript = is_superscript

    def _begin_data(self, attributes: dict[str, str]) -> None:
        self._is_data = True
        self._type = attributes.get("Type", "")

    def _end_data(self) -> None:
        text = self._text.take().strip()
        self._is_data = False
        if text and self._is_comment:
            author = f"{self._author}: " if self._author else ""
            self._comments.append(f"> {column_name(max(self._column, 0))}{self._row} {author}{' '.join(text.split())}")
        elif text:
            self._cells.append(SheetCell(self._column, self._format_value(text)))

    def _format_value(self, text: str) -> str:
        style = self._styles.get(self._style, "")
        if self._type == "Number":
            return self._formats.format(text, style)
        if self._type == "DateTime" and (moment := _parse_time(text)):
            text_by_format = self._formats.format(repr((moment - EPOCH).total_seconds() / _SECONDS_A_DAY), style)
            iso = f"{moment:%Y-%m-%d %H:%M:%S}".removesuffix(" 00:00:00")
            return iso if _NUMBER.fullmatch(text_by_format) else text_by_format
        return _TRUTHS.get(text, text) if self._type == "Boolean" else text

    def _end_row(self) -> None:
        if self._sheet:
            self._sheet.write_row(self._row, self._cells)
        self._cells.clear()

    def _end_sheet(self) -> None:
        for comment in self._comments:
            self._draft.paragraph(comment)
        self._comments.clear()


def _index(attributes: dict[str, str]) -> int:
    index = attributes.get("Index", "")
    return int(index) if index.isdecimal() and len(index) < _MAX_DIGITS else 0


def _parse_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.rstrip("Z")).replace(tzinfo=None)
    except ValueError:
        return None


_PART: Final = re.compile(
    r"<(?P<tag>(?:[\w.-]{1,40}:)?(?:(?P<part>part)|(?P<xml>xmlData)|binaryData))\b(?P<attributes>[^<>]*)>"
)
_PART_NAME: Final = re.compile(r"\bname\s*=\s*[\"']([^\"']*)")
_MAX_NAME: Final = 1_000
"""Names in a ZIP package are limited in length."""

_PROPERTIES: Final = {
    "title": "Title",
    "creator": "Author",
    "created": "Created",
    "modified": "LastSaved",
    "subject": "Subject",
    "keywords": "Keywords",
}
_NO_PROPERTIES: Final = frozenset(
    "body Worksheet Styles styles lists fonts docPr docSuppData docOleData binData CustomDocumentProperties".split()
)
_NO_WORD_TEXT: Final = frozenset("DocumentProperties CustomDocumentProperties docPr styles lists fonts".split())
_ASIDE: Final = "txbxContent"
_NAMES: Final = {**dict.fromkeys(("footnote", "endnote", "hdr", "ftr"), _ASIDE), "ilfo": "numId"}
"""Later names of the elements of Word 2003, or of the most similar elements."""

_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_TRUTHS: Final = {"0": "FALSE", "1": "TRUE"}
_SECONDS_A_DAY: Final = 86_400
_MAX_DIGITS: Final = 10
_MAX_CODE: Final = 255
_NAMED_FORMATS: Final = {
    "General": "",
    "General Date": "yyyy-mm-dd hh:mm:ss",
    "Long Date": "d mmmm yyyy",
    "Medium Date": "dd-mmm-yy",
    "Short Date": "yyyy-mm-dd",
    **dict.fromkeys(("Long Time", "Medium Time", "Short Time"), "hh:mm:ss"),
    "Fixed": "0.00",
    "Standard": "#,##0.00",
    "Percent": "0.00%",
    "Scientific": "0.00E+00",
}
"""The named formats of Excel 2003; there, dates depend on the language of the system."""
