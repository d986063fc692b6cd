"""Words and numbers that are also written as one word, and dates: where they stand in a text.

Each pattern is tried only where the shape of a text allows a match, as the engine is slow where it may begin anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final


def separated_word_matches(text: str) -> list[re.Match[str]]:
    """Return the matches of `SEPARATED`, tried only at the words before their first separators: much faster."""
    match_at, end, matches = compiled(SEPARATED).match, 0, []
    for start in _starts(text):
        if start < end:
            continue
        for n_before in _N_BEFORE.get(text[start - 1 : start], _NONE_BEFORE):
            if start - n_before >= end and (match := match_at(text, start - n_before)):
                matches.append(match)
                end = match.end()
                break
    return matches


def _starts(text: str) -> list[int]:
    """Return where the word or number before the first separator of each match of `SEPARATED` begins, and some more."""
    if not text.isascii():
        return [_start_before(text, match.start()) for match in compiled(_SEPARATOR).finditer(text)]
    content = text.encode()
    starts = {*_number_starts(content)}
    marks, shape = content.translate(MARKS), content.translate(SHAPES)
    for joining in JOINING:
        starts.update([shape.rfind(b" ", 0, match.start()) + 1 for match in compiled(joining).finditer(marks)])
    at = shape.find(_IBAN_SHAPE)
    while at >= 0:
        starts.add(at + 2)
        at = shape.find(_IBAN_SHAPE, at + 1)
    return sorted(starts)


def _start_before(text: str, separator: int) -> int:
    start, is_part = separator, str.isdecimal if text[separator].isdecimal() else str.isalnum
    while start and is_part(text[start - 1]):
        start -= 1
    return start


def _number_starts(content: bytes) -> Iterator[int]:
    """Yield where digits begin that others follow, in ASCII."""
    numbers = content.translate(_NUMBERS)
    # Only the last of these digits is searched for: with all of them, the pattern takes five times as long.
    for match in compiled(_NUMBER_GROUP).finditer(numbers):
        start = match.start()
        while start and numbers[start - 1] == _DIGIT:
            start -= 1
        yield start


def dates(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `DATE`, tried only around years."""
    if not any(map(text.__contains__, _CENTURIES)):
        return
    match_at, end = compiled(DATE).match, 0
    for year in compiled(_YEAR).finditer(text):
        start = year.start()
        before = compiled(_DAY_AND_MONTH).search(text, max(start - _MAX_CHARS_BEFORE_YEAR, 0), start)
        for at in (before.start(), start) if before else (start,):
            if at >= end and (match := match_at(text, at)):
                yield match
                end = match.end()
                break


compiled: Final = cache(re.compile)
"""Compiles a pattern on first use: most processes that import this need none of them."""

SEPARATED: Final = (
    r"(?<![\w.-])(?:"
    r"(?P<number>\+?\(?\d[\d,']*\)?(?:[ .,'/:()-]{1,2}+\d++)+)(?!\w)"
    r"|[A-Z]{2}\d{2}(?:[ ][A-Z0-9]{1,4}){3,8}(?!\w)"
    r"|[^\W_]++(?:(?:-|-\n[ \t]*|[\u2010\u2011]|:(?=[0-9A-Fa-f]{2}\b))[^\W_]++)++"
    r"|(?:[A-Za-z]\.){2,}[A-Za-z]?"
    r")"
)
"""Text that is also written as one word: numbers in groups, an IBAN, words with hyphens or broken at the end of a line,
MAC addresses, and abbreviations with points."""

# The patterns below begin with a set of characters, which `re` finds ten times faster than a position for a lookbehind.
_SEPARATOR: Final = (
    r"[\d:.\-\u2010\u2011](?:"
    r"(?<=\d)(?=[ .,'/:()-]+\d|[ ][A-Z0-9])"
    r"|(?<=[^\W_][-\u2010\u2011])(?=[^\W_]|(?<=-)\n[ \t]*[^\W_])"
    r"|(?<=[^\W_]:)(?=[0-9A-Fa-f]{2}\b)"
    r"|(?<=[A-Za-z]\.)(?=[A-Za-z]\.)"
    r")"
)
"""The first separator of each match of `SEPARATED`, or the digit before it."""

DATE: Final = (
    r"(?<![\w.-])(?:(?P<y1>(?:1[89]|20)\d\d)[-/.](?P<m1>\d\d?)[-/.](?P<d1>\d\d?)"
    r"|(?P<d2>\d\d?)\.[ ]?(?P<m2>\d\d?)\.[ ]?(?P<y2>(?:1[89]|20)\d\d))(?!\d)"
)
_CENTURIES: Final = ("20", "19", "18")
_YEAR: Final = r"[12](?:(?<=1)[89]|(?<=2)0)\d\d(?:(?=[-/.])|(?<=[-/. ]\d{4}))"
"""A year that may belong to a `DATE`."""

_DAY_AND_MONTH: Final = r"\d\d?\.[ ]?\d\d?\.[ ]?\Z"
_MAX_CHARS_BEFORE_YEAR: Final = len("31. 12. ")

SHAPES: Final = bytes(
    ord("a") if chr(byte).islower() else ord("A") if chr(byte).isupper() else ord("0") if chr(byte).isdigit() else 32
    for byte in range(128)
) + bytes(128)
"""Letters of each case and digits as one of each, and all else as blanks."""

MARKS: Final = bytes(
    byte if chr(byte) in "-.:\n" else ord("a" if chr(byte).isalnum() else " ") for byte in range(128)
) + bytes(128)
# Each of these begins with one character that is rare in a text, which `re` finds at a third of the cost of a letter.
JOINING: Final = (rb"-(?<=a-)(?=[a\n])", rb":(?<=a:)(?=a)", rb"\.(?=a\.)")
"""Separators within words, in a text translated by `MARKS`."""

_NUMBERS: Final = bytes(
    ord("0" if chr(byte).isdigit() else "," if chr(byte) in " .,'/:()-" else "x") for byte in range(128)
) + bytes(128)
_DIGIT: Final = ord("0")
_NUMBER_GROUP: Final = rb"0,++(?=0)"
_NONE_BEFORE: Final = (0,)
_CAPITALS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # the module of strings takes a millisecond to import
_N_BEFORE: Final[dict[str, tuple[int, ...]]] = {
    "+": (1, 0),
    "(": (2, 1, 0),
    **dict.fromkeys(_CAPITALS, (2,)),
    **dict.fromkeys(f"{_CAPITALS.lower()}0123456789_.-", ()),
}
"""Offsets before a number where a match may begin, by the character there: a sign, a bracket, letters of an IBAN."""

_IBAN_SHAPE: Final = b"AA00 "
