"""Excel workbooks: every sheet, hidden ones too, row by row, with values as displayed.

A sheet is read by its cells, never by its declared size. Phonetic readings of ideographs are left out.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from directory_indexer.formats.document import Document
from directory_indexer.formats.draft import Draft
from directory_indexer.formats.office.number_formats import NumberFormats, read_number_formats
from directory_indexer.formats.office.ooxml_parts import drawing_texts, read_authors, read_comments, read_properties
from directory_indexer.formats.office.sheets import Sheet, SheetCell, column_number
from directory_indexer.formats.packages import Package, Relation
from directory_indexer.formats.raised_marks import InlineText
from directory_indexer.formats.xml_events import read_xml


def read_xlsx(package: Package, main: str) -> Document:
    """Read a workbook by its main part, which has the order and the names of its sheets.

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
    parts = {relation.role: relation.part for relation in relations.values()}
    strings = _shared_strings(package, parts)
    formats = read_number_formats(package, parts, has_1904_epoch=workbook.has_1904_epoch)
    authors = read_authors(package, relations.values())
    for name, sheet_id in workbook.sheets:
        if sheet := relations.get(sheet_id):
            rows = _Rows(Sheet(name, draft), strings, formats)
            read_xml(package.pieces(sheet.part), rows, skipped=_SKIPPED)
            for text in rows.margins:
                draft.paragraph(text)
            _write_comments_and_drawings(package, sheet, authors, draft)
    title, metadata = read_properties(package)
    return draft.document("xlsx", title, metadata)


def _write_comments_and_drawings(package: Package, sheet: Relation, authors: dict[str, str], draft: Draft) -> None:
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
        self._text = _RichText()
        self._is_text = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._is_text = name == "t"
        self._text.read_format(name, attributes)

    def text(self, text: str) -> None:
        if self._is_text:
            self._text.write_run(text)

    def end(self, name: str) -> None:
        self._is_text = False
        if name == "si":
            self.all.append(_unescape(self._text.take()))


class _RichText(InlineText):
    """The text of a cell in runs, of which some are superscript."""

    __slots__ = ("_is_superscript",)

    def __init__(self) -> None:
        super().__init__()
        self._is_superscript = False

    def read_format(self, name: str, attributes: dict[str, str]) -> None:
        if name in _RUNS:
            self._is_superscript = False
        elif name == "vertAlign":
            self._is_superscript = attributes.get("val") == "superscript"

    def write_run(self, text: str) -> None:
        if self._is_superscript:
            self.write_superscript(text)
        else:
            self.write(text)


class _Rows:
    """Turns the elements of a sheet into rows; rows and cells without a reference follow the previous one."""

    def __init__(self, sheet: Sheet, strings: list[str], formats: NumberFormats) -> None:
        self._sheet = sheet
        self._strings = strings
        self._formats = formats
        self._number = 0
        self._column = -1
        self._cells: list[SheetCell] = []
        self._type = self._style = ""
        self._text = _RichText()
        self._formula: list[str] = []
        self._is_value = self._is_formula = self._has_value = self._is_margin = False
        self.margins: list[str] = []
        """The headers and footers of its pages."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            column = column_number(attributes.get("r", ""))
            self._column = self._column + 1 if column is None else column
            self._type = attributes.get("t", "n")
            self._style = attributes.get("s", "")
            self._has_value = False
        elif name == "row":
            number = attributes.get("r", "")
            self._number = int(number) if number.isdecimal() and len(number) < _MAX_DIGITS else self._number + 1
            self._column = -1
        elif name in _VALUES:
            self._is_value = self._has_value = True
        else:
            self._is_formula = name == "f"
            self._is_margin = name in _MARGINS
            self._text.read_format(name, attributes)

    def text(self, text: str) -> None:
        if self._is_value or self._is_margin:
            self._text.write_run(text)
        elif self._is_formula:
            self._formula.append(text)

    def end(self, name: str) -> None:
        if name in _VALUES:
            self._is_value = False
        elif name == "f":
            self._is_formula = False
        elif name == "c":
            self._end_cell()
        elif self._is_margin:
            self._end_margin()
        elif name == "row":
            self._sheet.write_row(self._number, self._cells)
            self._cells.clear()

    def _end_cell(self) -> None:
        value = self._text.take()
        text = self._format_value(value) if value else ""
        # A formula without a computed value is shown itself; an empty text is a value.
        if not text and self._formula and not (self._has_value and self._type == "str"):
            text = f"={''.join(self._formula).strip()}"
        if text:
            self._cells.append(SheetCell(self._column, text))
        self._formula.clear()

    def _end_margin(self) -> None:
        text = " ".join(_MARGIN_CODE.sub(_expand_margin_code, self._text.take()).split())
        if any(map(str.isalpha, text)) and text not in self.margins:
            self.margins.append(text)
        self._is_margin = False

    def _format_value(self, text: str) -> str:
        if self._type == "n":
            return self._formats.format(text, self._style)
        if self._type == "s":
            index = int(text) if text.isdecimal() and len(text) < _MAX_DIGITS else len(self._strings)
            return self._strings[index].strip() if index < len(self._strings) else ""
        if self._type == "b":
            return "TRUE" if text.strip() in _TRUE else "FALSE"
        return _unescape(text).strip()


def _unescape(text: str) -> str:
    """Replace character escapes such as `_x0041_`."""
    return _CHARACTER.sub(lambda match: _NO_TEXT.sub(" ", chr(int(match[1], 16))), text) if "_x" in text else text


def _expand_margin_code(code: re.Match[str]) -> str:
    return "&" if code[0] == "&&" else " " if code[0][1:] in _MARGIN_PARTS else ""


_CHARACTER: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_NO_TEXT: Final = re.compile("[\0-\x1f\x7f\ud800-\udfff]")
_MARGINS: Final = frozenset(f"{which}{part}" for which in ("odd", "even", "first") for part in ("Header", "Footer"))
_MARGIN_PARTS: Final = frozenset("LCR")
_MARGIN_CODE: Final = re.compile(r"&(?:\"[^\"]*\"|\d{1,3}|K[0-9A-Fa-f]{6}|.)", re.DOTALL)
_VALUES: Final = frozenset({"v", "t"})
_RUNS: Final = frozenset({"si", "is", "r"})
_TRUE: Final = frozenset({"1", "true"})
_SKIPPED: Final = frozenset({"rPh", "extLst"})
_MAX_DIGITS: Final = 10
