"""Excel workbooks: every sheet, hidden ones too, row by row, with values as they are shown.

A sheet is told by its cells, never by the size that it declares. Readings above ideographs are left out.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.office.comments import read_authors, read_comments
from directory_indexer.extractors.office.drawings import drawing_texts
from directory_indexer.extractors.office.number_formats import NumberFormats, read_number_formats
from directory_indexer.extractors.office.ooxml_properties import read_properties
from directory_indexer.extractors.office.sheets import Sheet, SheetCell, column_number
from directory_indexer.extractors.packages import Package, Relation
from directory_indexer.extractors.xml_events import read_xml


def read_xlsx(package: Package, main: str) -> Document:
    """Read a workbook by its main part, which tells the order and the names of its sheets.

    Raises:
        SkipFileError: it is more than is read.
        ExtractionError: the main part is damaged, and no sheet can be found.
    """
    relations = package.relations(main)
    workbook = _Workbook()
    problem = read_xml(package.pieces(main), workbook)
    if problem and not workbook.sheets:
        raise problem
    draft = Draft()
    parts = {one.role: one.part for one in relations.values()}
    strings = _shared_strings(package, parts)
    formats = read_number_formats(package, parts, has_1904_epoch=workbook.has_1904_epoch)
    authors = read_authors(package, relations.values())
    for name, sheet_id in workbook.sheets:
        if sheet := relations.get(sheet_id):
            rows = _Rows(Sheet(name, draft), strings, formats)
            read_xml(package.pieces(sheet.part), rows, skipped=_SKIPPED)
            _write_what_is_around(package, sheet, authors, draft)
    title, metadata = read_properties(package)
    return draft.document("xlsx", title, metadata)


def _write_what_is_around(package: Package, sheet: Relation, authors: dict[str, str], draft: Draft) -> None:
    relations = tuple(dict.fromkeys(package.relations(sheet.part).values()))
    for comment in read_comments(package, relations, authors):
        draft.paragraph(f"> {comment.cell} {comment.text}")
    for text in drawing_texts(package, relations):
        draft.paragraph(text)


def _shared_strings(package: Package, parts: dict[str, str]) -> list[str]:
    strings = _SharedStrings()
    read_xml(package.pieces(parts.get("sharedStrings", "xl/sharedStrings.xml")), strings, skipped=_SKIPPED)
    return strings.all


class _SheetName(NamedTuple):
    name: str
    sheet_id: str


class _Workbook:
    def __init__(self) -> None:
        self.sheets: list[_SheetName] = []
        self.has_1904_epoch = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            self.sheets.append(_SheetName(attributes.get("name", ""), attributes.get("id", "")))
        elif name == "workbookPr":
            self.has_1904_epoch = attributes.get("date1904", "") in _TRUE

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


class _SharedStrings:
    def __init__(self) -> None:
        self.all: list[str] = []
        self._pieces: list[str] = []
        self._is_text = False

    def start(self, name: str, _: dict[str, str]) -> None:
        self._is_text = name == "t"

    def text(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        self._is_text = False
        if name == "si":
            self.all.append("".join(self._pieces))
            self._pieces.clear()


class _Rows:
    """Turns the elements of a sheet into rows; rows and cells that say no place stand behind the last one."""

    def __init__(self, sheet: Sheet, strings: list[str], formats: NumberFormats) -> None:
        self._sheet = sheet
        self._strings = strings
        self._formats = formats
        self._number = 0
        self._column = -1
        self._cells: list[SheetCell] = []
        self._type = self._style = ""
        self._pieces: list[str] = []
        self._is_value = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            column = column_number(attributes.get("r", ""))
            self._column = self._column + 1 if column is None else column
            self._type = attributes.get("t", "n")
            self._style = attributes.get("s", "")
        elif name == "row":
            number = attributes.get("r", "")
            self._number = int(number) if number.isdecimal() and len(number) < _MAX_DIGITS else self._number + 1
            self._column = -1
        else:
            self._is_value = name in _VALUES

    def text(self, text: str) -> None:
        if self._is_value:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        if name in _VALUES:
            self._is_value = False
        elif name == "c":
            if self._pieces and (text := self._value("".join(self._pieces))):
                self._cells.append(SheetCell(self._column, text))
            self._pieces.clear()
        elif name == "row":
            self._sheet.write_row(self._number, self._cells)
            self._cells.clear()

    def _value(self, written: str) -> str:
        if self._type == "n":
            return self._formats.shown(written, self._style)
        if self._type == "s":
            index = int(written) if written.isdecimal() and len(written) < _MAX_DIGITS else len(self._strings)
            return self._strings[index].strip() if index < len(self._strings) else ""
        if self._type == "b":
            return "TRUE" if written.strip() in _TRUE else "FALSE"
        return written.strip()


_VALUES: Final = frozenset({"v", "t"})
_TRUE: Final = frozenset({"1", "true"})
_SKIPPED: Final = frozenset({"rPh", "extLst"})
_MAX_DIGITS: Final = 10
