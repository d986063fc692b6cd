"""Chunks of a document, and the text that is embedded for each."""

import os
import re
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from directory_indexer.core.paths import FilePath

_NAME_WORD = re.compile(r"[^\W\d_]{2,}")
_NAME_WORD_OR_YEAR = re.compile(rf"{_NAME_WORD.pattern}|(?<!\d)(?:19|20)\d\d(?!\d)")
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class LineCut(IntEnum):
    """Whether a chunk begins within a line, and within a word."""

    NONE = 0
    BETWEEN_WORDS = 1
    IN_WORD = 2


class Chunk(NamedTuple):
    """A range of a document's text: characters `start_char` to `end_char`, lines counted from 1, both inclusive.

    Chunks of a document are sorted, cover all of its text, and overlap only with their neighbours, so the document can
    be reassembled from them. `heading` is the heading or symbol path joined by ` > `; `cell` is the first cell of the
    spreadsheet row that it begins in; `line_cut` tells whether its first line is complete.
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
    return embedded_as(chunk.text, heading=chunk.heading, path=path)


def embedded_as(text: str, *, heading: str, path: FilePath) -> str:
    """Return the text that is embedded for a chunk with this text and heading."""
    return "\n".join(part for part in (_words_of_name(path), heading, text) if part)


@lru_cache(maxsize=16)  # chunks come file by file
def _words_of_name(path: FilePath) -> str:
    stem, ending = os.path.splitext(os.path.basename(path))
    # Annual reports are similar, and the year is often only in the file name.
    word = _NAME_WORD_OR_YEAR if ending.lower() == ".pdf" else _NAME_WORD
    return "" if _HASH.fullmatch(stem) else " ".join(word.findall(stem))
