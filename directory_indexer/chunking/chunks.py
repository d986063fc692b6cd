"""Chunks of a document, and the text that is embedded for each."""

import os
import re
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

from directory_indexer.core.paths import FilePath

_NAME_WORD = re.compile(r"[^\W\d_]{2,}")
_NAME_WORD_OR_YEAR = re.compile(rf"{_NAME_WORD.pattern}|(?<!\d)(?:19|20)\d\d(?!\d)")
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ROW_FORMAT: Final = re.compile(r"(?<!\S)(\d{1,9})\+(\d{1,9})([A-Z]{0,3})(\d{1,9})(?!\S)")


class LineCut(IntEnum):
    """Whether a chunk begins within a line, and within a word."""

    NONE = 0
    BETWEEN_WORDS = 1
    IN_WORD = 2


class SheetRows(NamedTuple):
    """Consecutive rows of a spreadsheet that begin in the same column, one on each line of a chunk.

    `line` counts from the first line of the chunk; `number` is that of the first row. `column` is "" if it is unknown
    which cells the texts of a row belong to.
    """

    line: int
    n_rows: int
    column: str
    number: int


def format_rows(rows: Iterable[SheetRows]) -> str:
    """Format the positions of the rows of a chunk in their sheets: `0+12A1 14+3C20`."""
    return " ".join(f"{line}+{n_rows}{column}{number}" for line, n_rows, column, number in rows)


def row_and_column_at(rows: str, line: int) -> tuple[str, int] | None:
    """Return the column and number of the row on a line of a chunk, from `format_rows`; None if it is unknown."""
    for first, n_rows, column, number in _ROW_FORMAT.findall(rows):
        if 0 <= line - int(first) < int(n_rows):
            return column, int(number) + line - int(first)
    return None


class Chunk(NamedTuple):
    """A range of a document's text: characters `start_char` to `end_char`, lines counted from 1, both inclusive.

    Chunks of a document are sorted, cover all of its text, and overlap only with their neighbours, so the document can
    be reassembled from them. `heading` is the heading or symbol path joined by ` > `; `cell` holds the positions of the
    spreadsheet rows in it, in the format of `format_rows`; `line_cut` tells whether its first line is complete.
    """

    ordinal: int
    text: str
    n_tokens: int
    start_char: int
    end_char: int
    start_line: int
    end_line: int
    page: int | None = None
    heading: str = ""
    cell: str = ""
    line_cut: LineCut = LineCut.NONE


def embedding_text(chunk: Chunk, path: FilePath) -> str:
    """Return the text that is embedded for a chunk: the words of its file name, its heading, and its text.

    Directories are left out, so that a file keeps its vectors when one of them is renamed.
    """
    return text_to_embed(chunk.text, heading=chunk.heading, path=path)


def text_to_embed(text: str, *, heading: str, path: FilePath) -> str:
    """Return the text that is embedded for a chunk with this text and heading."""
    return "\n".join(part for part in (_words_of_name(path), heading, text) if part)


@lru_cache(maxsize=16)  # chunks come file by file
def _words_of_name(path: FilePath) -> str:
    stem, ending = os.path.splitext(os.path.basename(path))
    # Annual reports are similar, and the year is often only in the file name.
    word = _NAME_WORD_OR_YEAR if ending.lower() == ".pdf" else _NAME_WORD
    return "" if _HASH.fullmatch(stem) else " ".join(word.findall(stem))
