"""Secrets in lists: an entry next to a secret that is equally random is a secret, too.

A list of logins has one per line, and only the first may be labelled, or have a published format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.shapes import Shape, shape_of
from directory_indexer.credentials.spans import SecretSpan, line_start


def listed_spans(text: str, spans: Sequence[SecretSpan]) -> Iterator[SecretSpan]:
    """Yield random labelled values in the lines next to a secret."""
    starts = {line_start(text, span.start, _MAX_LINE): span.kind for span in spans[:_MAX_ENTRIES]}
    for start, kind in starts.items():
        if not _ENTRY.match(text, start):
            continue
        for neighbour in (*_above(text, start), *_below(text, start)):
            if neighbour.start() not in starts and _is_random(neighbour):
                yield SecretSpan(*neighbour.span("value"), kind)


def _above(text: str, start: int) -> Iterator[re.Match[str]]:
    for _ in range(_MAX_DISTANCE):
        if start == 0:
            return
        start = line_start(text, start - 1, _MAX_LINE)
        entry = _ENTRY.match(text, start)
        if entry is None:
            return
        yield entry


def _below(text: str, start: int) -> Iterator[re.Match[str]]:
    for _ in range(_MAX_DISTANCE):
        start = text.find("\n", start, start + _MAX_LINE) + 1
        entry = _ENTRY.match(text, start) if start else None
        if entry is None:
            return
        yield entry


def _is_random(entry: re.Match[str]) -> bool:
    if _OPEN.search(entry["label"]):
        return False
    return shape_of(entry["value"]) == Shape.RANDOM or _BASE32.fullmatch(entry["value"]) is not None


_MAX_LINE: Final = 400
_MAX_ENTRIES: Final = 200
_MAX_DISTANCE: Final = 4
_ENTRY: Final = LazyPattern(
    r"[ \t]{0,12}(?:[-*•][ \t]{1,4})?(?P<label>\w[\w .()@/-]{0,40}?)[ \t]{0,4}(?:[:=|\t]|[ ]{1,20}|[ ]-)[ \t]{0,20}"
    r"[\"'`]?(?P<value>[!-~]{12,300}?)[\"'`,;]{0,2}[ \t\r]{0,4}(?=\n|\Z)"
)
_BASE32: Final = LazyPattern(r"(?=[A-Z]*[2-7])[A-Z2-7]{16,64}")
_OPEN: Final = LazyPattern(
    r"(?i)public|print|\bid\b|hash|sum|uuid|version|user|name|mail|url|link|digest|etag|commit|rsa|ssh"
)
"""Words in labels of values that look random and are no secrets."""
