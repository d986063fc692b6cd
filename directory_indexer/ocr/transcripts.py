"""Conversion of a language model's transcript of a page to lines."""

from __future__ import annotations

import re
from typing import Final

from directory_indexer.extractors.tables import row_line
from directory_indexer.scans import Line, Word

CONFIDENCE: Final = 90
"""Placeholder, since language models report no confidence."""

NOTHING: Final = "(no text)"
"""The answer that a model is instructed to give for an empty page."""


def lines_of(text: str) -> tuple[Line, ...]:
    """Split a transcript into lines, with a block for each paragraph and table; positions are unknown."""
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
    """Remove a code fence around a whole answer, which models add against instructions."""
    text = text.strip()
    first, _, rest = text.partition("\n")
    if _FENCE.fullmatch(first) and rest.endswith("```"):
        text = rest.removesuffix("```").strip()
    return "" if text == NOTHING else text


_FENCE: Final = re.compile(r"```[a-zA-Z]{0,20}\s{0,4}")
_RULE: Final = frozenset("|:- \t")
