"""Spans of secrets in a text, and their masking, which moves no other character."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

MASK: Final = "*"


class SecretSpan(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text are a secret of this kind."""

    start: int
    end: int
    kind: str


def merged(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """Sort spans and join overlapping ones; the first one determines the kind."""
    result: list[SecretSpan] = []
    for span in sorted(spans):
        if result and span.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def masked(text: str, spans: Iterable[SecretSpan]) -> str:
    """Mask sorted spans; white space stays, so that every line and offset is unchanged."""
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], _VISIBLE.sub(MASK, text[span.start : span.end]))
        end = span.end
    return "".join((*parts, text[end:]))


def line_start(text: str, at: int, max_length: int) -> int:
    """Return the start of the line that contains a position, but at most `max_length` characters before it."""
    lowest = max(at - max_length, 0)
    return text.rfind("\n", lowest, at) + 1 or lowest


_VISIBLE: Final = re.compile(r"\S")
