"""Words and numbers that are also written as one word, and dates: where they stand in a text.

Each pattern is tried only where the shape of a text allows a match, as the engine is slow where it may begin anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final


def separated_word_matches(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `SEPARATED`, tried only at the words before their first separators: much faster."""
    match_at, end = compiled(SEPARATED).match, 0
    for start in _starts(text):
        if start < end:
            continue
        # A number may have a sign and a bracket before it, and an IBAN begins with two letters.
        lowest = max(start - 2, end) if text[start - 1 : start] in _BEFORE_NUMBERS else start
        for at in range(lowest, start + 1):
            if match := match_at(text, at):
                yield match
                end = match.end()
                break


def _starts(text: str) -> list[int]:
    """Return where the word or number before the first separator of each match of `SEPARATED` begins, and some more."""
    if not text.isascii():
        return [_start_before(text, match.start()) for match in compiled(_SEPARATOR).finditer(text)]
    content, starts = text.encode(), {*_number_starts(text)}
    marks, shape = content.translate(MARKS), content.translate(SHAPES)
    for joining, sign in JOINING.items():
        at = marks.find(joining) if sign in content else -1
        while at >= 0:
            starts.add(shape.rfind(b" ", 0, at) + 1)
            at = marks.find(joining, at + 1)
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


@lru_cache(maxsize=1)
def _number_starts(text: str) -> tuple[int, ...]:
    """Return where digits begin that others follow, in ASCII; cached, as both numbers and dates are among them."""
    numbers = text.encode().translate(_NUMBERS)
    # Only the last of these digits is searched for: with all of them, the pattern takes five times as long.
    starts = []
    for match in compiled(_NUMBER_GROUP).finditer(numbers):
        start = match.start()
        while start and numbers[start - 1] == _DIGIT:
            start -= 1
        starts.append(start)
    return tuple(starts)


def dates(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `DATE`, tried only at numbers."""
    if not any(map(text.__contains__, _CENTURIES)):
        return
    if not text.isascii():
        yield from compiled(DATE).finditer(text) if compiled(_YEAR).search(text) else ()
        return
    match_at, end = compiled(DATE).match, 0
    for start in _number_starts(text):
        if start >= end and (match := match_at(text, start)):
            yield match
            end = match.end()


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

SHAPES: Final = bytes(
    ord("a") if chr(byte).islower() else ord("A") if chr(byte).isupper() else ord("0") if chr(byte).isdigit() else 32
    for byte in range(128)
) + bytes(128)
"""Letters of each case and digits as one of each, and all else as blanks."""

MARKS: Final = bytes(
    byte if chr(byte) in "-.:\n" else ord("a" if chr(byte).isalnum() else " ") for byte in range(128)
) + bytes(128)
JOINING: Final = {b"a-a": b"-", b"a-\n": b"-", b"a:a": b":", b".a.": b"."}
"""Shapes of separators, each with a character that a text must have."""

_NUMBERS: Final = bytes(
    ord("0" if chr(byte).isdigit() else "," if chr(byte) in " .,'/:()-" else "x") for byte in range(128)
) + bytes(128)
_DIGIT: Final = ord("0")
_NUMBER_GROUP: Final = rb"0,++(?=0)"
_BEFORE_NUMBERS: Final = frozenset("+(ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_IBAN_SHAPE: Final = b"AA00 "
