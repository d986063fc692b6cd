"""Words of the index that a literal text consists of, with partial words at its ends.

A document that contains the text has these words, whatever surrounds it. Characters that the analyzer may write
differently, such as those with diacritics, are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from directory_indexer.relevance.analyzer import fold
from directory_indexer.relevance.han import simplified


class Piece(NamedTuple):
    """A word of the index, or a part of one where the text does not include its beginning or end."""

    text: str
    begins: bool
    ends: bool

    @property
    def is_word(self) -> bool:
        """Whether it is a whole word."""
        return self.begins and self.ends


def piece_rows(text: str) -> list[tuple[Piece, ...]]:
    """Split a text into rows of pieces; those of a row are consecutive words of the index."""
    rows: list[tuple[Piece, ...]] = []
    row: list[Piece] = []
    for run in re.finditer(_RUN, "".join(map(_shape, text))):
        start, end = run.span()
        match run[0][0]:
            case "a":
                row += _word_piece(text, start, end)
                continue
            case " ":
                continue
            case "g":
                rows += [tuple(row), tuple(_grams(text, start, end))]
            case _:
                rows.append(tuple(row))
        row = []
    return [pieces for pieces in (*rows, tuple(row)) if pieces]


def _word_piece(text: str, start: int, end: int) -> Iterator[Piece]:
    begins = start > 0 and _shape(text[start - 1]) == " "
    ends = end < len(text) and _shape(text[end]) == " "
    if not ends and not text[end - 1].isascii():
        end -= 1  # a combining mark may follow and form one letter with it
    if start < end:
        yield Piece(text[start:end].lower(), begins, ends)


def _grams(text: str, start: int, end: int) -> Iterator[Piece]:
    """Yield the n-grams of a run without spaces as the analyzer does: a bigram begins at every character."""
    if not _is_han(text[end - 1]):
        end -= 1
    letters = simplified(text[start:end])
    if len(letters) == 1:
        yield Piece(letters, begins=True, ends=False)
    for at in range(len(letters) - 1):
        yield Piece(letters[at : at + 2], begins=True, ends=True)


@lru_cache(maxsize=1 << 12)
def _shape(character: str) -> str:
    """Classify a character: `a` letter, ` ` separator, `g` letter of a language without spaces, `?` any other."""
    if character.isascii():
        return "a" if character.isalnum() else " "
    if re.match(_GRAMS, character):
        return "g"
    lowered = character.lower()
    is_plain = len(lowered) == 1 and unicodedata.normalize("NFKD", lowered) == lowered == fold(character)
    return "a" if is_plain and lowered.isalpha() else "?"


def _is_han(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"


_RUN: Final = r"a+| +|g+|\?+"
_GRAMS: Final = "[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]"
