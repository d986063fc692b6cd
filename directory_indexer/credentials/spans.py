"""Where secrets stand in a text, and how they are masked so that no other character moves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

MASK: Final = "*"


class SecretSpan(NamedTuple):
    """Characters `start` to `end` of a text (exclusive) are a secret of this kind."""

    start: int
    end: int
    kind: str


def merged(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """Sort spans and join those that overlap; the first one names the kind."""
    result: list[SecretSpan] = []
    for span in sorted(spans):
        if result and span.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def masked(text: str, spans: Iterable[SecretSpan]) -> str:
    """Mask sorted spans; white space stays, so every line and every offset stays where it was."""
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], _VISIBLE.sub(MASK, text[span.start : span.end]))
        end = span.end
    return "".join((*parts, text[end:]))


def line_start(text: str, at: int, max_length: int) -> int:
    """Find where the line begins that holds a place in a text, or what is `max_length` characters before the place."""
    lowest = max(at - max_length, 0)
    return text.rfind("\n", lowest, at) + 1 or lowest


_VISIBLE: Final = re.compile(r"\S")
