"""Parts of a file as HTTP asks for them (RFC 9110, section 14), and what is answered to those who know it already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_RANGE: Final = re.compile(r"\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")
_MOST_RANGES: Final = 20
_TAG: Final = re.compile(r'(?:W/)?"[^"]*"')


class Span(NamedTuple):
    """Bytes from the first one to before the following one."""

    start: int
    end: int


class UnsatisfiableError(Exception):
    """No byte that is asked for is there."""


def spans_of(header: str, size: int) -> tuple[Span, ...]:
    """Read a Range header; none where it asks for nothing that is understood, and all is to be sent.

    Spans come as they are asked for, those that touch or overlap as one.

    Raises:
        UnsatisfiableError: no byte that is asked for is there.
    """
    unit, is_there, text = header.partition("=")
    parts = [_RANGE.fullmatch(part) for part in text.split(",")]
    if not is_there or unit.strip().lower() != "bytes" or len(parts) > _MOST_RANGES:
        return ()
    asked = [(part[1], part[2]) for part in parts if part]
    if len(asked) < len(parts) or any(not first and not last for first, last in asked):
        return ()
    if any(first and last and int(last) < int(first) for first, last in asked):
        return ()
    found = [span for first, last in asked if (span := _span(first, last, size)).start < span.end]
    if not found:
        raise UnsatisfiableError
    return _joined(found)


def is_known(header: str, etag: str) -> bool:
    """Tell whether an If-None-Match header names an entity tag; weak and strong ones are compared alike."""
    return header.strip() == "*" or any(tag.removeprefix("W/") == etag for tag in _TAG.findall(header))


def still_fits(header: str, etag: str) -> bool:
    """Tell whether parts may be sent to who has others of this entity tag; a date never tells that well enough."""
    return not header or header.strip() == etag


def _span(first: str, last: str, size: int) -> Span:
    if not first:
        return Span(max(size - int(last), 0), size)
    return Span(int(first), min(int(last) + 1, size) if last else size)


def _joined(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Join spans that touch, so that nobody is sent the same bytes again and again."""
    joined: list[Span] = []
    for span in spans:
        touching = [one for one in joined if one.start <= span.end and span.start <= one.end]
        if not touching:
            joined.append(span)
            continue
        whole = Span(min(span.start, *(one.start for one in touching)), max(span.end, *(one.end for one in touching)))
        at = joined.index(touching[0])
        joined = [one for one in joined if one not in touching]
        joined.insert(at, whole)
    return tuple(joined)
