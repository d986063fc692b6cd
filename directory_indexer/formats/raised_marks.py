"""Superscript marks of notes and verses, which belong to no word, unlike exponents and ordinals."""

from __future__ import annotations

import re
from typing import Final


def is_mark(text: str) -> bool:
    """Whether superscript text may be the mark of a note: numbers, a letter or a sign."""
    return _MARK.fullmatch(text) is not None


def is_mark_after(text: str, raised: str) -> bool:
    """Whether superscript text is a mark after the last word of a text, not a part of it."""
    ending = _WORD_BEFORE_LETTER if raised[:1].isalpha() else _WORD_BEFORE_NUMBER
    return is_mark(raised) and ending.search(text[-_LONGEST_ENDING:]) is not None


def is_number_before(raised: str, text: str) -> bool:
    """Whether superscript text is the number of a note or verse that begins with a text, not of an isotope."""
    return raised.isdecimal() and _WORD.match(text) is not None


_MARK: Final = re.compile(r"\d{1,3}(?:[,\u2013-]\d{1,3})*|[a-z](?:,[a-z])*|[*\u2020\u2021]")
_WORD: Final = re.compile(r"[^\W\d_]{3}")
_WORD_BEFORE_NUMBER: Final = re.compile(r"[^\W\d_]{3}[.,;:)\u201d\"]?$")
_WORD_BEFORE_LETTER: Final = re.compile(r"[^\W\d_A-Z]{3}$")
"""Letters behind capitals belong to the word, as in XIXe."""

_LONGEST_ENDING: Final = 4
