"""Binary Excel workbooks, read by calamine: those of before 2007, and `xlsb`."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from typing import Final

import python_calamine

from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.document import Document
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.office.native import damage_of
from directory_indexer.extractors.office.ooxml_properties import read_properties
from directory_indexer.extractors.office.sheets import Sheet, SheetCell
from directory_indexer.extractors.packages import Package


def extract_xlsb(content: bytes, _: str, budget: Budget) -> Document:
    """Read a binary workbook in a package.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    title, metadata = read_properties(Package(content, budget))
    return _read(content).document("xlsb", title, metadata)


def read_xls(content: bytes) -> Document:
    """Read a workbook of before 2007.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    return _read(content).document("xls")


def _read(content: bytes) -> Draft:
    draft = Draft()
    with damage_of("workbook", python_calamine.CalamineError, OSError, ValueError):
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
        return f"{value:.15g}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d}" if value.time() == _MIDNIGHT else f"{value:%Y-%m-%d %H:%M:%S}".removesuffix(":00")
    if isinstance(value, time):
        return f"{value:%H:%M:%S}".removesuffix(":00")
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return str(value).strip() if isinstance(value, str | int | date) else ""


_MIDNIGHT: Final = time()
