"""Makes lines of the text that a language model has written about a page."""

from __future__ import annotations

import re
from typing import Final

from directory_indexer.extractors.tables import row_line
from directory_indexer.scans import Line, Word

CONFIDENCE: Final = 90
"""Stands for what language models do not tell: how sure they are. It says nothing about a page."""

NOTHING: Final = "(no text)"
"""What a model is told to answer about an empty page."""


def lines_of(text: str) -> tuple[Line, ...]:
    """Cut a transcript into lines, with a block for each paragraph and each table; where they stand is not known."""
    lines: list[Line] = []
    block, was_row, is_new = 0, False, False
    for written in _unfenced(text).splitlines():
        line = written.strip()
        is_row = line.startswith("|") and line.endswith("|") and len(line) > 1
        if not line or (is_row and set(line) <= _RULE):
            is_new |= not line
            continue
        if lines and (is_new or is_row != was_row):
            block += 1
        line = row_line(line[1:-1].replace("\\|", " ").split("|")) if is_row else line
        lines.append(Line(tuple(Word(word, CONFIDENCE) for word in line.split(" ")), block))
        was_row, is_new = is_row, False
    return tuple(lines)


def _unfenced(text: str) -> str:
    """Take off the fence of a block of code around a whole answer, which models add though they are told not to."""
    text = text.strip()
    first, _, rest = text.partition("\n")
    if _FENCE.fullmatch(first) and rest.endswith("```"):
        text = rest.removesuffix("```").strip()
    return "" if text == NOTHING else text


_FENCE: Final = re.compile(r"```[a-zA-Z]{0,20}\s{0,4}")
_RULE: Final = frozenset("|:- \t")
