"""How a workbook shows its numbers: as dates, times and percentages where their format says so."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from directory_indexer.extractors.packages import Package
from directory_indexer.extractors.xml_events import read_xml


class NumberFormats:
    """The formats of a workbook, by the numbers that its cells refer to them by."""

    def __init__(self, codes: list[str], *, has_1904_epoch: bool) -> None:
        self._kinds = {str(index): kind for index, code in enumerate(codes) if (kind := _kind(code))}
        self._epoch = _EPOCH_OF_1904 if has_1904_epoch else _EPOCH

    def shown(self, written: str, style: str) -> str:
        """Give a number as its format shows it, dates and times in ISO 8601; what is no number stays as it is."""
        kind = self._kinds.get(style, "")
        if not kind and written.isdecimal() and len(written) <= _EXACT_DIGITS:
            return written
        try:
            number = float(written)
        except ValueError:
            return written.strip()
        if kind == "percentage":
            return f"{number * 100:.10g}%"
        if kind and 0 <= number < _DAYS:
            return self._moment(number, kind)
        return f"{number:.15g}"

    def _moment(self, days: float, kind: str) -> str:
        seconds = round(days * _SECONDS_A_DAY)
        if kind == "elapsed":
            return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        if self._epoch == _EPOCH and days < _FALSE_LEAP_DAY:
            seconds += _SECONDS_A_DAY  # Excel counts the 29th of February 1900, which was none
        moment = self._epoch + timedelta(seconds=seconds)
        time = f"{moment:%H:%M:%S}".removesuffix(":00")
        if kind == "time" and days < 1:
            return time
        return f"{moment:%Y-%m-%d}" if seconds % _SECONDS_A_DAY == 0 else f"{moment:%Y-%m-%d} {time}"


def read_number_formats(package: Package, parts: dict[str, str], *, has_1904_epoch: bool) -> NumberFormats:
    """Read the formats of a workbook; without them numbers stay numbers."""
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
    if _TIME.search(bare):
        return "time"
    return "percentage" if "%" in bare else ""


class _Styles:
    """The codes of the formats in the order in which cells refer to them."""

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


_EPOCH: Final = datetime(1899, 12, 30)  # noqa: DTZ001 - sheets know no time zones
_EPOCH_OF_1904: Final = datetime(1904, 1, 1)  # noqa: DTZ001
_SECONDS_A_DAY: Final = 86_400
_FALSE_LEAP_DAY: Final = 60
_DAYS: Final = 2_958_466
"""Up to the end of the year 9999, which is the last one that Excel shows."""

_EXACT_DIGITS: Final = 15
_MAX_CODE: Final = 255
_BUILT_IN: Final = {
    **dict.fromkeys(map(str, (9, 10)), "0%"),
    **dict.fromkeys(map(str, (*range(14, 18), 22, *range(27, 32), 36, *range(50, 59))), "yyyy-mm-dd"),
    **dict.fromkeys(map(str, (*range(18, 22), *range(32, 36), 45, 47)), "hh:mm:ss"),
    "46": "[h]:mm:ss",
}
"""Those that no workbook writes down; some of them are dates in East Asia alone."""

_ELAPSED: Final = re.compile(r"\[(?:h+|m+|s+)\]")
_LITERAL: Final = re.compile(r'"[^"]*"|\[[^\]]*\]|[\\_*].')
_DATE: Final = re.compile(r"[yd]|^[^hs]*m[^hs]*$")
_TIME: Final = re.compile(r"[hs]")
