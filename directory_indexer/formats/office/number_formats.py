"""Numbers as workbooks display them by format code (ECMA-376, 18.8.31): `#,##0.00 €`, `00000`, `0.0%`, dates.

A code is compiled into a function once. Separators are those of the file, which are the English ones, because the
display in another country depends on the system there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.formats.office.date_codes import moment_writer
from directory_indexer.formats.packages import Package
from directory_indexer.formats.xml_events import read_xml

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

_MOST_EXACT: Final = 2.0**53

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

_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|(?P<ignored>[_*].)|(?P<section>;)|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|(?P<bracketed>\[[^\]]*\])|(?P<signs>%|(?:[0#?.,/]|E[+-])+)|(?P<plain>.)",
    re.DOTALL,
)
_CONDITION: Final = re.compile(r"\[(<=|>=|<>|<|>|=)(-?\d{1,15}(?:\.\d{1,15})?)\]")
_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": float.__lt__,
    "<=": float.__le__,
    ">": float.__gt__,
    ">=": float.__ge__,
    "=": float.__eq__,
    "<>": float.__ne__,
}
_AS_WRITTEN: Final = re.compile("general|@", re.IGNORECASE)
_DIGITS: Final = frozenset("0#?")
_MAX_SECTIONS: Final = 3
"""The fourth section is for texts."""

_JUST_MORE: Final = 1 + 1e-15
_MAX_DENOMINATOR: Final = 9_999


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
            return plain_number(number)
        if style not in self._writers:
            self._writers[style] = self._writer_of(code)
        return self._writers[style](number)

    def _writer_of(self, code: str) -> _Writer:
        kind = _kind(code)
        if not kind:
            return number_writer(code) or plain_number
        write_moment = None if code in _STANDARD_MOMENTS else moment_writer(code)

        def write(number: float) -> str:
            if not 0 <= number < _DAYS:
                return plain_number(number)
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


def read_number_formats(package: Package, parts: dict[str, str], *, has_1904_epoch: bool) -> NumberFormats:
    """Return the formats of a workbook; without them numbers stay numbers."""
    styles = _Styles()
    read_xml(package.pieces(parts.get("styles", "xl/styles.xml")), styles)
    return NumberFormats(styles.codes, has_1904_epoch=has_1904_epoch)


def plain_number(number: float) -> str:
    """Format a number that has no format: all digits of a whole one, as identifiers have, and 15 of any other."""
    return f"{number:.0f}" if number.is_integer() and abs(number) <= _MOST_EXACT else f"{number:.15g}"


class Token(NamedTuple):
    """A piece of a code: signs for digits or parts of a date, or `literal` text."""

    signs: str
    literal: str = ""


def sections_of(code: str) -> list[list[Token]]:
    """Split a code into its sections, each into tokens; colours, widths and fill characters are dropped."""
    sections: list[list[Token]] = [[]]
    for match in _TOKEN.finditer(code):
        match match.lastgroup:
            case "section":
                sections.append([])
            case "quoted" | "escaped" | "currency":
                sections[-1].append(Token("", match[match.lastgroup]))
            case "signs":
                sections[-1].append(Token(match[0]))
            case "plain":
                sections[-1].append(Token("", match[0]))
            case _:
                pass
    return sections


def number_writer(code: str) -> Callable[[float], str] | None:
    """Return a formatter of numbers for a code; None if they are displayed as they are."""
    conditions = [_CONDITION.search(section) for section in _split(code)]
    writers = [_writer(section) for section in sections_of(code)][:_MAX_SECTIONS]
    if not any(writers):
        return None
    choose = _chooser(conditions, len(writers))

    def write(number: float) -> str:
        at, has_sign = choose(number)
        writer = writers[at]
        text = writer(abs(number)).strip() if writer else ""
        if not text:  # a hidden number stays searchable
            return plain_number(number)
        return f"-{text}" if number < 0 and has_sign else text

    return write


def _elapsed(days: float) -> str:
    seconds = round(days * _SECONDS_A_DAY)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


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


def _split(code: str) -> list[str]:
    return re.sub(r'"[^"]*"|\\.', "", code).split(";")


def _chooser(conditions: Sequence[re.Match[str] | None], n_sections: int) -> Callable[[float], tuple[int, bool]]:
    """Return a function from a number to the index of its section and whether that writes a minus sign."""
    if any(conditions):
        tests = [(_COMPARISONS[match[1]], float(match[2])) if match else None for match in conditions[:n_sections]]

        def by_condition(number: float) -> tuple[int, bool]:
            at = next((at for at, test in enumerate(tests) if test is None or test[0](number, test[1])), 0)
            return at, True

        return by_condition
    negative, zero = min(n_sections - 1, 1), 2 if n_sections > 2 else 0  # noqa: PLR2004 - the third section

    def by_sign(number: float) -> tuple[int, bool]:
        return (0, False) if number > 0 else (zero, False) if number == 0 else (negative, negative == 0)

    return by_sign


def _writer(tokens: Sequence[Token]) -> Callable[[float], str] | None:
    """Return a formatter of absolute numbers for the tokens of one section; None for `General`."""
    signs = "".join(token.signs for token in tokens)
    if not any(sign in signs for sign in "0#?"):
        text = "".join(token.literal for token in tokens)
        return None if _AS_WRITTEN.search(text) else lambda _: text
    if "E" in signs:
        return _scientific(tokens, signs)
    if "/" in signs:
        return _fraction(tokens, signs)
    return _decimal(tokens, signs)


def _decimal(tokens: Sequence[Token], signs: str) -> Callable[[float], str]:
    whole, _, part = signs.replace("%", "").partition(".")
    n_scaled = len(whole) - len(whole.rstrip(",")) + (len(part) - len(part.rstrip(",")))
    is_grouped = "," in whole.rstrip(",")
    factor = 100.0 ** signs.count("%") / 1000.0**n_scaled
    part = part.replace(",", "")
    count_places, n_fixed = len(part), len(part.rstrip("#"))
    n_digits = whole.count("0")
    places = _places(tokens)

    def write(number: float) -> str:
        # Decimals such as 2.675 have no exact float; Excel rounds from 15 digits.
        digits, _, decimals = f"{number * factor * _JUST_MORE:.{count_places}f}".partition(".")
        digits = (digits if digits != "0" or n_digits else "").rjust(n_digits, "0")
        decimals = decimals[:n_fixed] + decimals[n_fixed:].rstrip("0")
        return _insert_digits(
            places, f"{int(digits):,}".rjust(n_digits, "0") if is_grouped and digits else digits, decimals
        )

    return write


class _Places(NamedTuple):
    """The literal texts around digits: before, within and behind the whole number, and behind the decimals.

    `within` has for each text how many digits of the whole number stand to the right of it.
    """

    before: str
    within: tuple[tuple[int, str], ...]
    behind: str


def _places(tokens: Sequence[Token]) -> _Places:
    is_digit = [bool(set(token.signs) & _DIGITS) for token in tokens]
    first = is_digit.index(True)
    last = len(tokens) - 1 - is_digit[::-1].index(True)
    before = "".join(map(_text, tokens[:first]))
    behind = "".join(map(_text, tokens[last + 1 :]))
    within: list[tuple[int, str]] = []
    point = next((at for at in range(first, last + 1) if "." in tokens[at].signs), last + 1)
    n_right = 0
    for at in range(min(point, last), first - 1, -1):
        token = tokens[at]
        n_right += sum(token.signs.partition(".")[0].count(sign) for sign in _DIGITS)
        if text := "" if is_digit[at] else _text(token):
            within.append((n_right, text))
    return _Places(before, tuple(within), behind)


def _text(token: Token) -> str:
    return token.literal or ("%" * token.signs.count("%"))


def _insert_digits(places: _Places, digits: str, decimals: str) -> str:
    for n_right, text in reversed(places.within):
        at = max(len(digits) - n_right, 0) if n_right else len(digits)
        digits = f"{digits[:at]}{text}{digits[at:]}"
    return f"{places.before}{digits}{'.' if decimals else ''}{decimals}{places.behind}"


def _scientific(tokens: Sequence[Token], signs: str) -> Callable[[float], str]:
    mantissa, _, exponent = signs.partition("E")
    count_places, n_digits = len(mantissa.partition(".")[2]), len(exponent.lstrip("+-"))
    places = _places([token for token in tokens if token.literal or token.signs])

    def write(number: float) -> str:
        digits, _, power = f"{number:.{count_places}E}".partition("E")
        return f"{places.before}{digits}E{power[0]}{power[1:].lstrip('0').rjust(n_digits, '0')}{places.behind}"

    return write


def _fraction(tokens: Sequence[Token], signs: str) -> Callable[[float], str]:
    denominator = signs.partition("/")[2]
    has_whole = len(re.findall("[0#?]+", " ".join(token.signs or " " for token in tokens).partition("/")[0])) > 1
    fixed = int("".join(token.literal for token in tokens if token.literal.isdecimal()) or 0)
    most = min(10 ** len(denominator) - 1, _MAX_DENOMINATOR) if denominator else 1

    def write(number: float) -> str:
        whole, rest = divmod(number, 1) if has_whole else (0, number)
        if fixed:
            part = f"{round(rest * fixed)}/{fixed}"
        else:
            close = Fraction(rest).limit_denominator(most)
            whole, part = (whole + 1, "") if close == 1 and has_whole else (whole, str(close) if close else "")
        return f"{whole:.0f} {part}".strip() if whole else part or "0"

    return write
