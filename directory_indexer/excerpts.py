"""Which part of a passage is shown, and which words in it are marked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from directory_indexer.analyzer import words
from directory_indexer.records import Excerpt

if TYPE_CHECKING:
    from directory_indexer.matchplan import MatchPlan


def excerpt(text: str, plan: MatchPlan, *, start_line: int, max_chars: int) -> Excerpt:
    """Cut the stretch of whole lines that holds most of what is looked for; the start when it holds nothing."""
    forms = {form for term in plan.terms for form in (*term.forms, *(word for row in term.rows for word in row))}
    lines = text.splitlines(keepends=True) or [""]
    marks = [[found.span() for found in _RUN.finditer(line) if forms.intersection(words(found[0]))] for line in lines]
    first, last = _best_window(lines, [len(found) for found in marks], max_chars)
    shown: list[tuple[int, int]] = []
    offset = 0
    for line, found in zip(lines[first:last], marks[first:last], strict=True):
        shown += [(offset + start, min(offset + end, max_chars)) for start, end in found if offset + start < max_chars]
        offset += len(line)
    part = "".join(lines[first:last])[:max_chars].rstrip("\r\n")
    return Excerpt(
        part, start_line + first, start_line + last - 1, tuple(mark for mark in shown if mark[1] <= len(part))
    )


def _best_window(lines: list[str], scores: list[int], max_chars: int) -> tuple[int, int]:
    best, best_score = (0, 1), -1
    for first in range(len(lines)):
        last, size = first + 1, len(lines[first])
        while last < len(lines) and size + len(lines[last]) <= max_chars:
            size += len(lines[last])
            last += 1
        score = sum(scores[first:last])
        if score > best_score:
            best, best_score = (first, last), score
    return best


_RUN: Final = re.compile(r"[^\W_]+")
