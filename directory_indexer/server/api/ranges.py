"""HTTP range requests (RFC 9110, section 14) and conditional requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_RANGE: Final = re.compile(r"\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")
_MOST_RANGES: Final = 20
_TAG: Final = re.compile(r'(?:W/)?"[^"]*"')


class Span(NamedTuple):
    """A byte range; `end` is exclusive."""

    start: int
    end: int


class UnsatisfiableError(Exception):
    """No requested byte exists."""


def spans_of(header: str, size: int) -> tuple[Span, ...]:
    """Parse a Range header; an invalid or unsupported one yields no spans, and the whole file is sent.

    Spans are in the requested order; adjacent or overlapping ones are joined.

    Raises:
        UnsatisfiableError: no requested byte exists.
    """
    unit, separator, text = header.partition("=")
    parts = [_RANGE.fullmatch(part) for part in text.split(",")]
    if not separator or unit.strip().lower() != "bytes" or len(parts) > _MOST_RANGES:
        return ()
    bounds = [(part[1], part[2]) for part in parts if part]
    if len(bounds) < len(parts) or any(not first and not last for first, last in bounds):
        return ()
    if any(first and last and int(last) < int(first) for first, last in bounds):
        return ()
    spans = [span for first, last in bounds if (span := _span(first, last, size)).start < span.end]
    if not spans:
        raise UnsatisfiableError
    return _join_touching(spans)


def is_known(header: str, etag: str) -> bool:
    """Whether an If-None-Match header contains an entity tag, by weak comparison."""
    return header.strip() == "*" or any(tag.removeprefix("W/") == etag for tag in _TAG.findall(header))


def still_fits(header: str, etag: str) -> bool:
    """Whether an If-Range header allows a partial response; a date is never precise enough."""
    return not header or header.strip() == etag


def _span(first: str, last: str, size: int) -> Span:
    if not first:
        return Span(max(size - int(last), 0), size)
    return Span(int(first), min(int(last) + 1, size) if last else size)


def _join_touching(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Join adjacent and overlapping spans, so that no byte is sent twice."""
    joined: list[Span] = []
    for span in spans:
        touching = [other for other in joined if other.start <= span.end and span.start <= other.end]
        if not touching:
            joined.append(span)
            continue
        whole = Span(
            min(span.start, *(other.start for other in touching)), max(span.end, *(other.end for other in touching))
        )
        at = joined.index(touching[0])
        joined = [other for other in joined if other not in touching]
        joined.insert(at, whole)
    return tuple(joined)
