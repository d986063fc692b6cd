"""Binary Excel workbooks and Word documents from before 2007, read by the native libraries calamine and office-oxide.

Errors of the libraries become one error; a crash of their process is handled by the worker.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any, Final, TypeAlias

import office_oxide
import python_calamine

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document
from directory_indexer.formats.draft import Cell, Draft, table_lines
from directory_indexer.formats.office.number_formats import plain_number
from directory_indexer.formats.office.ooxml_parts import read_properties
from directory_indexer.formats.office.sheets import Sheet, SheetCell
from directory_indexer.formats.packages import Package
from directory_indexer.formats.raised_marks import InlineText

_MIDNIGHT: Final = time()


_Node: TypeAlias = dict[str, Any]

_HEADERS_AND_FOOTERS: Final = tuple(
    f"{which}{part}" for part in ("header", "footer") for which in ("", "first_page_", "even_page_")
)
_CONTENTS: Final = ("content", "items", "rows", "cells", "nested")
_INLINE: Final = frozenset({"text", "line_break", "image"})

_MESSAGE_CHARACTERS: Final = 150
_PASSWORDS: Final = ("password", "encrypted")


def extract_xlsb(content: bytes, _: str, budget: Budget) -> Document:
    """Read a binary workbook in a package.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    title, metadata = read_properties(Package(content, budget))
    return _read_workbook(content).document("xlsb", title, metadata)


def read_xls(content: bytes) -> Document:
    """Read a workbook from before 2007.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    return _read_workbook(content).document("xls")


def read_doc(content: bytes) -> Document:
    """Read a document; headers and footers come last, each text once.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    draft = Draft()
    headers_and_footers: dict[str, None] = {}
    for section in _sections(content):
        _write_nodes(section.get("elements", ()), draft)
        headers_and_footers |= {_text(section[part]): None for part in _HEADERS_AND_FOOTERS if section.get(part)}
    for text in headers_and_footers:
        draft.paragraph(text)
    return draft.document("doc")


@contextmanager
def translate_errors(content_name: str, *errors: type[Exception]) -> Iterator[None]:
    """Convert the errors and panics of a library into failures that name the content.

    Raises:
        SkipFileError: the file needs a password.
        ExtractionError: the file is damaged, or the library fails on it.
    """
    try:
        yield
    except ExtractionError:
        raise
    except errors as error:
        message = " ".join(str(error).split())[:_MESSAGE_CHARACTERS]
        if any(word in message.lower() for word in _PASSWORDS):
            raise SkipFileError(SkipReason.ENCRYPTED, "needs a password") from error
        raise ExtractionError(f"damaged {content_name}: {message or type(error).__name__}") from error
    except BaseException as error:
        # PyO3 raises a Rust panic as a class that is no `Exception` and cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise ExtractionError(f"damaged {content_name}: its reader failed") from error


def _read_workbook(content: bytes) -> Draft:
    draft = Draft()
    with translate_errors("workbook", python_calamine.CalamineError, OSError, ValueError):
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        for index, sheet in enumerate(workbook.sheets_metadata):
            if sheet.typ == python_calamine.SheetTypeEnum.WorkSheet:
                _write_sheet(workbook.get_sheet_by_index(index), Sheet(sheet.name, draft))
    return draft


def _write_sheet(sheet: python_calamine.CalamineSheet, target: Sheet) -> None:
    # calamine starts at the first row of a sheet, but at the first column with a cell.
    _, first_column = sheet.start or (0, 0)
    for number, values in enumerate(sheet.iter_rows(), 1):
        texts = ((column, _format_value(value)) for column, value in enumerate(values, first_column) if value != "")
        target.write_row(number, (SheetCell(column, text) for column, text in texts if text))


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return plain_number(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d}" if value.time() == _MIDNIGHT else f"{value:%Y-%m-%d %H:%M:%S}".removesuffix(":00")
    if isinstance(value, time):
        return f"{value:%H:%M:%S}".removesuffix(":00")
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return str(value).strip() if isinstance(value, str | int | date) else ""


def _sections(content: bytes) -> list[_Node]:
    with translate_errors("Office document", office_oxide.OfficeOxideError, ValueError, RuntimeError):
        document = office_oxide.Document.from_bytes(content, "doc")
        sections: list[_Node] = document.to_ir()["sections"]
    return sections


def _write_nodes(nodes: Iterable[_Node], draft: Draft) -> None:
    for node in nodes:
        if write := _WRITERS.get(node["type"]):
            write(node, draft)


def _write_list(node: _Node, draft: Draft, depth: int = 0) -> None:
    for number, item in enumerate(node.get("items", ()), node.get("start_number") or 1):
        mark = f"{number}." if node.get("ordered") else "-"
        draft.item("  " * depth + mark, _text({"content": item["content"]}))
        if nested := item.get("nested"):
            _write_list(nested, draft, depth + 1)


def _write_table(node: _Node, draft: Draft) -> None:
    rows = node.get("rows", ())
    if all(len(row["cells"]) <= 1 for row in rows):
        _write_nodes((inner for row in rows for cell in row["cells"] for inner in cell["content"]), draft)
    else:
        draft.rows(table_lines([_cell(cell) for cell in row["cells"]] for row in rows))


def _cell(node: _Node) -> Cell:
    return Cell(_text(node), node.get("col_span") or 1, node.get("row_span") or 1)


def _text(node: _Node) -> str:
    """Return all the text in a node, with blanks between its blocks."""
    text = InlineText()
    _write_inline(node, text)
    return text.take().strip()


def _write_inline(node: _Node, text: InlineText) -> None:
    if node.get("type") == "text":
        (text.write_superscript if node.get("vertical_align") == "superscript" else text.write)(node["text"])
    elif node.get("type") == "line_break":
        text.write("\n")
    for inner in (inner for key in _CONTENTS for inner in node.get(key) or ()):
        _write_inline(inner, text)
        if inner.get("type") not in _INLINE:
            text.write(" ")


_WRITERS: Final[dict[str, Callable[[_Node, Draft], None]]] = {
    "heading": lambda node, draft: draft.heading(node["level"], _text(node)),
    "paragraph": lambda node, draft: draft.paragraph(_text(node)),
    "list": _write_list,
    "table": _write_table,
    "text_box": lambda node, draft: _write_nodes(node["content"], draft),
    "footnote": lambda node, draft: draft.paragraph(_text(node)),
    "endnote": lambda node, draft: draft.paragraph(f"> {_text(node)}"),
}
