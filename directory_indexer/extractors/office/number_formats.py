"""Numbers as a workbook displays them: as dates, times and percentages, by their format."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from directory_indexer.extractors.office.date_codes import moment_writer
from directory_indexer.extractors.office.number_codes import number_writer
from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import read_xml


class NumberFormats:
    """The formats of a workbook, by the numbers in its cells."""

    def __init__(self, codes: list[str], *, has_1904_epoch: bool) -> None:
        self._codes = {str(index): code for index, code in enumerate(codes) if code}
        self._writers: dict[str, _Writer] = {}
        self._epoch = _EPOCH_OF_1904 if has_1904_epoch else EPOCH

    def format(self, value: str, style: str) -> str:
        """Return a number as its format displays it, with dates and times also in ISO 8601; other text unchanged."""
        code = self._codes.get(style, "")
        if not code and value.isdecimal() and len(value) <= _EXACT_DIGITS:
            return value
        try:
            number = float(value)
        except ValueError:
            return value.strip()
        if not code or not abs(number) < _MOST:
            return f"{number:.15g}"
        if style not in self._writers:
            self._writers[style] = self._writer_of(code)
        return self._writers[style](number)

    def _writer_of(self, code: str) -> _Writer:
        kind = _kind(code)
        if not kind:
            return number_writer(code) or _plain
        write_moment = None if code in _STANDARD_MOMENTS else moment_writer(code)

        def write(number: float) -> str:
            if not 0 <= number < _DAYS:
                return _plain(number)
            return _elapsed(number) if kind == "elapsed" else self._format_moment(number, kind, write_moment)

        return write

    def _format_moment(self, days: float, kind: str, write_moment: Callable[[datetime], str] | None) -> str:
        seconds = round(days * _SECONDS_A_DAY)
        if self._epoch == EPOCH and days < _FALSE_LEAP_DAY:
            seconds += _SECONDS_A_DAY  # Excel counts 29 February 1900, which did not exist
        moment = self._epoch + timedelta(seconds=seconds)
        time = f"{moment:%H:%M:%S}".removesuffix(":00")
        if kind == "time" and days < 1:
            iso = time
        else:
            iso = f"{moment:%Y-%m-%d}" if seconds % _SECONDS_A_DAY == 0 else f"{moment:%Y-%m-%d} {time}"
        text = write_moment(moment) if write_moment else ""
        return iso if not text or text in iso else text if iso in text else f"{text} ({iso})"


def _plain(number: float) -> str:
    return f"{number:.15g}"


def _elapsed(days: float) -> str:
    seconds = round(days * _SECONDS_A_DAY)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def read_number_formats(package: Package, parts: dict[str, str], *, has_1904_epoch: bool) -> NumberFormats:
    """Return the formats of a workbook; without them numbers stay numbers."""
    styles = _Styles()
    read_xml(package.pieces(parts.get("styles", "xl/styles.xml")), styles)
    return NumberFormats(styles.codes, has_1904_epoch=has_1904_epoch)


def _kind(code: str) -> str:
    code = code.partition(";")[0].lower()
    if _ELAPSED.search(code):
        return "elapsed"
    bare = _LITERAL.sub("", code)
    if _DATE.search(bare):
        return "date"
    return "time" if _TIME.search(bare) else ""


class _Styles:
    """The format codes in the order in which cells refer to them."""

    def __init__(self) -> None:
        self.codes: list[str] = []
        self._own_codes: dict[str, str] = {}
        self._is_of_cells = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        number = attributes.get("numFmtId", "")
        if name == "numFmt":
            self._own_codes[number] = attributes.get("formatCode", "")[:_MAX_CODE]
        elif name == "cellXfs":
            self._is_of_cells = True
        elif name == "xf" and self._is_of_cells:
            self.codes.append(self._own_codes.get(number, _BUILT_IN.get(number, "")))

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._is_of_cells = False

    def text(self, text: str) -> None: ...


EPOCH: Final = datetime(1899, 12, 30)  # noqa: DTZ001 - sheets know no time zones
_EPOCH_OF_1904: Final = datetime(1904, 1, 1)  # noqa: DTZ001
_SECONDS_A_DAY: Final = 86_400
_FALSE_LEAP_DAY: Final = 60
_DAYS: Final = 2_958_466
"""The end of the year 9999, the last that Excel displays."""

_Writer: TypeAlias = Callable[[float], str]
_EXACT_DIGITS: Final = 15
_MOST: Final = 1e21
"""Larger numbers are no amounts; NaN compares as false, too."""

_MAX_CODE: Final = 255
_DATE_CODE: Final = "yyyy-mm-dd"
_TIME_CODE: Final = "hh:mm:ss"
_STANDARD_MOMENTS: Final = frozenset({_DATE_CODE, _TIME_CODE})
_BUILT_IN: Final = {
    "1": "0",
    "2": "0.00",
    "3": "#,##0",
    "4": "#,##0.00",
    "9": "0%",
    "10": "0.00%",
    "11": "0.00E+00",
    "12": "# ?/?",
    "13": "# ??/??",
    "48": "##0.0E+0",
    **dict.fromkeys(map(str, (5, 6)), "$#,##0;($#,##0)"),
    **dict.fromkeys(map(str, (7, 8)), "$#,##0.00;($#,##0.00)"),
    **dict.fromkeys(map(str, (37, 38)), "#,##0;(#,##0)"),
    **dict.fromkeys(map(str, (39, 40)), "#,##0.00;(#,##0.00)"),
    **dict.fromkeys(map(str, (*range(14, 18), 22, *range(27, 32), 36, *range(50, 59))), _DATE_CODE),
    **dict.fromkeys(map(str, (*range(18, 22), *range(32, 36), 45, 47)), _TIME_CODE),
    "46": "[h]:mm:ss",
}
"""Built-in formats, which no workbook contains; some of them are dates in East Asia alone."""

_ELAPSED: Final = re.compile(r"\[(?:h+|m+|s+)\]")
_LITERAL: Final = re.compile(r'"[^"]*"|\[[^\]]*\]|[\\_*].')
_DATE: Final = re.compile(r"[yd]|^[^hs]*m[^hs]*$")
_TIME: Final = re.compile(r"[hs]")
