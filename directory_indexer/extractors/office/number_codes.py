"""Numbers as workbooks display them by format code (ECMA-376, 18.8.31): `#,##0.00 €`, `00000`, `"INV-"0000`, `0.0%`.

A code is compiled into a function once. Separators are those of the file, which are the English ones, because the
display in another country depends on the system there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, NamedTuple


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
    writers = [_writer(section) for section in sections_of(code)][:_MOST_SECTIONS]
    if not any(writers):
        return None
    choose = _chooser(conditions, len(writers))

    def write(number: float) -> str:
        at, has_sign = choose(number)
        writer = writers[at]
        text = writer(abs(number)).strip() if writer else ""
        if not text:  # a hidden number stays searchable
            return f"{number:.15g}"
        return f"-{text}" if number < 0 and has_sign else text

    return write


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
    n_places, n_fixed = len(part), len(part.rstrip("#"))
    n_digits = whole.count("0")
    places = _places(tokens)

    def write(number: float) -> str:
        # Decimals such as 2.675 have no exact float; Excel rounds from 15 digits.
        digits, _, decimals = f"{number * factor * _JUST_MORE:.{n_places}f}".partition(".")
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
    n_places, n_digits = len(mantissa.partition(".")[2]), len(exponent.lstrip("+-"))
    places = _places([token for token in tokens if token.literal or token.signs])

    def write(number: float) -> str:
        digits, _, power = f"{number:.{n_places}E}".partition("E")
        return f"{places.before}{digits}E{power[0]}{power[1:].lstrip('0').rjust(n_digits, '0')}{places.behind}"

    return write


def _fraction(tokens: Sequence[Token], signs: str) -> Callable[[float], str]:
    denominator = signs.partition("/")[2]
    has_whole = len(re.findall("[0#?]+", " ".join(token.signs or " " for token in tokens).partition("/")[0])) > 1
    fixed = int("".join(token.literal for token in tokens if token.literal.isdecimal()) or 0)
    most = min(10 ** len(denominator) - 1, _LARGEST_DENOMINATOR) if denominator else 1

    def write(number: float) -> str:
        whole, rest = divmod(number, 1) if has_whole else (0, number)
        if fixed:
            part = f"{round(rest * fixed)}/{fixed}"
        else:
            close = Fraction(rest).limit_denominator(most)
            whole, part = (whole + 1, "") if close == 1 and has_whole else (whole, str(close) if close else "")
        return f"{whole:.0f} {part}".strip() if whole else part or "0"

    return write


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
_MOST_SECTIONS: Final = 3
"""The fourth section is for texts."""

_JUST_MORE: Final = 1 + 1e-15
_LARGEST_DENOMINATOR: Final = 9_999
