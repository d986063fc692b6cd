"""Superscript marks of notes and verses, which belong to no word, unlike exponents and ordinals."""

from __future__ import annotations

import re
from typing import Final


class InlineText:
    """Text written in pieces, in which marks are apart from the words around them."""

    __slots__ = ("_raised", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._raised = ""
        """The superscript text written last, with the character before it."""

    def write(self, text: str) -> None:
        """Write text on the line."""
        if self._raised and text:
            text = f" {text}" if is_mark_before(self._raised, text) else text
            self._raised = ""
        self.pieces.append(text)

    def write_superscript(self, text: str) -> None:
        """Write superscript text."""
        before = "".join(self.pieces[-_N_LAST_PIECES:])
        self.write(f" {text}" if is_mark_after(before, text) else text)
        self._raised = before[-1:] + text

    def take(self) -> str:
        """Return the text, and begin anew."""
        text = "".join(self.pieces)
        self.pieces.clear()
        self._raised = ""
        return text


def is_mark(text: str) -> bool:
    """Whether superscript text may be the mark of a note or a trade mark: numbers, letters and signs."""
    return _MARK.fullmatch(text) is not None


def is_mark_after(text: str, raised: str) -> bool:
    """Whether superscript text is a mark after the last word of a text, not a part of it."""
    ending = _WORD_BEFORE_LETTER if raised[:1].islower() else _WORD_BEFORE_NUMBER
    return is_mark(raised) and ending.search(text[-_LONGEST_ENDING:]) is not None


def is_mark_before(raised: str, text: str) -> bool:
    """Whether superscript text is the mark of the note or verse that begins with a text, not of an isotope.

    `raised` begins with the character before the superscript text, if there is one.
    """
    return bool(
        (_NUMBER_AT_START.fullmatch(raised) and _WORD.match(text))
        or (_LETTER_AT_START.fullmatch(raised) and _CAPITALISED_WORD.match(text))
    )


_MARK: Final = re.compile(
    r"(?:\d{1,3}[a-z]?|[a-z]|[*\u2217\u2020\u2021\u00a7\u00b6#])"
    r"(?:[,\u2013-]\s?(?:\d{1,3}[a-z]?|[a-z])|,?\s?[*\u2217\u2020\u2021\u00a7\u00b6#])*[),]?\s*|TM|SM"
)
_NUMBER_AT_START: Final = re.compile(r"\D?\d{1,3}")
_LETTER_AT_START: Final = re.compile(r"\W?[a-z]")
_WORD: Final = re.compile(r"[^\W\d_]{3}")
_CAPITALISED_WORD: Final = re.compile(r"(?![a-z])[^\W\d_]{3}")
NAME_OF_TWO_LETTERS: Final = r"\b(?!Gy|Pa)(?:[A-Z][aeiouy]|Ng)"
"""Units and quantities of two letters, as in Hz2 and Rn2, seldom have a vowel."""

_WORD_BEFORE_NUMBER: Final = re.compile(
    rf"(?:[^\W\d_]{{3}}(?<!\b(?:cos|log|sin|tan))|{NAME_OF_TWO_LETTERS})[.,;:)\u201d\"]?$"
)

_WORD_BEFORE_LETTER: Final = re.compile(r"[^\W\d_A-Z]{3}$")
"""Letters behind capitals belong to the word, as in XIXe."""

_LONGEST_ENDING: Final = 4
_N_LAST_PIECES: Final = 4
