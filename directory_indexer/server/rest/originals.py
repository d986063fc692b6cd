"""Operation `/api/v1/documents/{doc_id}/original`: a document as it was sent, as an attachment or byte ranges of it.

Range requests and conditional requests are those of RFC 9110, section 14.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import quote

from directory_indexer.collections.documents import Original
from directory_indexer.collections.originals import open_original
from directory_indexer.core.errors import NotIndexedError
from directory_indexer.server.middleware.request_context import Problem, RefusedError
from directory_indexer.server.rest.arguments import OriginalCall
from directory_indexer.server.rest.operations import Reply, Services, StreamedFile

_HTTP_OK, _PARTIAL_CONTENT, _NOT_MODIFIED = 200, 206, 304
_ATTEMPTS = 5

RANGE_NOT_SATISFIABLE = Problem(416, "unsatisfiable_range", "the requested range is outside the document")

_RANGE_PATTERN: Final = re.compile(r"\s*(\d{0,18})\s*-\s*(\d{0,18})\s*")
_MAX_RANGES: Final = 20
_ENTITY_TAG: Final = re.compile(r'(?:W/)?"[^"]*"')


def original(services: Services, call: OriginalCall) -> Reply | StreamedFile:
    """Return a document as it was sent.

    Raises:
        NotIndexedError: there is no such document.
        RefusedError: the requested range is not satisfiable.
    """
    original, file = _open_unchanged(services, call)
    headers = _headers(original)
    if call.if_none_match and matches_if_none_match(call.if_none_match, original.etag):
        file.close()
        return Reply(None, _NOT_MODIFIED, headers)
    size = original.document.n_bytes
    try:
        spans = (
            parse_byte_ranges(call.range, size)
            if call.range and allows_partial_response(call.if_range, original.etag)
            else ()
        )
    except UnsatisfiableError as error:
        file.close()
        raise RefusedError(RANGE_NOT_SATISFIABLE._replace(detail=f"the document has {size} bytes")) from error
    return _byte_ranges(file, spans, size, headers) if spans else _whole_file(file, size, headers)


class ByteRange(NamedTuple):
    """A byte range; `end` is exclusive."""

    start: int
    end: int


class UnsatisfiableError(Exception):
    """No requested byte exists."""


def parse_byte_ranges(header: str, size: int) -> tuple[ByteRange, ...]:
    """Parse a Range header; an invalid or unsupported one yields no spans, and the whole file is sent.

    Spans are in the requested order; adjacent or overlapping ones are joined.

    Raises:
        UnsatisfiableError: no requested byte exists.
    """
    unit, separator, text = header.partition("=")
    parts = [_RANGE_PATTERN.fullmatch(part) for part in text.split(",")]
    if not separator or unit.strip().lower() != "bytes" or len(parts) > _MAX_RANGES:
        return ()
    bounds = [(part[1], part[2]) for part in parts if part]
    if len(bounds) < len(parts) or any(not first and not last for first, last in bounds):
        return ()
    if any(first and last and int(last) < int(first) for first, last in bounds):
        return ()
    spans = [span for first, last in bounds if (span := _byte_range(first, last, size)).start < span.end]
    if not spans:
        raise UnsatisfiableError
    return _join_touching(spans)


def matches_if_none_match(header: str, etag: str) -> bool:
    """Whether an If-None-Match header contains an entity tag, by weak comparison."""
    return header.strip() == "*" or any(tag.removeprefix("W/") == etag for tag in _ENTITY_TAG.findall(header))


def allows_partial_response(header: str, etag: str) -> bool:
    """Whether an If-Range header allows a partial response; a date is never precise enough."""
    return not header or header.strip() == etag


def _open_unchanged(services: Services, call: OriginalCall) -> tuple[Original, BinaryIO]:
    """Open the original that the record describes; it may be replaced in the meantime, but is never modified."""
    for _ in range(_ATTEMPTS):
        original = services.documents.original(call.collection, call.doc_id)
        try:
            file = open_original(original.path)
        except NotIndexedError:
            continue
        status = os.fstat(file.fileno())
        if (status.st_size, status.st_mtime_ns) == (original.document.n_bytes, original.document.mtime_ns):
            return original, file
        file.close()
    raise NotIndexedError("the original of this document is gone", hint="send it again")


def _headers(original: Original) -> dict[str, str]:
    """Return headers that keep browsers from rendering an original, which may contain scripts."""
    return {
        "ETag": original.etag,
        "Accept-Ranges": "bytes",
        "Content-Type": original.document.media_type,
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(original.document.filename, safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
    }


def _whole_file(file: BinaryIO, size: int, headers: Mapping[str, str]) -> StreamedFile:
    return StreamedFile(file, _HTTP_OK, {**headers, "Content-Length": str(size)}, ((b"", 0, size),))


def _byte_ranges(file: BinaryIO, spans: Sequence[ByteRange], size: int, headers: Mapping[str, str]) -> StreamedFile:
    if len(spans) == 1:
        (span,) = spans
        part_headers = {"Content-Range": _content_range(span, size), "Content-Length": str(span.end - span.start)}
        return StreamedFile(file, _PARTIAL_CONTENT, {**headers, **part_headers}, ((b"", *span),))
    boundary = secrets.token_hex(16)
    kind = headers["Content-Type"]
    parts = tuple(
        (
            f"\r\n--{boundary}\r\nContent-Type: {kind}\r\nContent-Range: {_content_range(span, size)}\r\n\r\n".encode(),
            *span,
        )
        for span in spans
    )
    ending = f"\r\n--{boundary}--\r\n".encode()
    length = len(ending) + sum(len(before) + end - start for before, start, end in parts)
    part_headers = {"Content-Type": f"multipart/byteranges; boundary={boundary}", "Content-Length": str(length)}
    return StreamedFile(file, _PARTIAL_CONTENT, {**headers, **part_headers}, parts, ending)


def _content_range(span: ByteRange, size: int) -> str:
    return f"bytes {span.start}-{span.end - 1}/{size}"


def _byte_range(first: str, last: str, size: int) -> ByteRange:
    if not first:
        return ByteRange(max(size - int(last), 0), size)
    return ByteRange(int(first), min(int(last) + 1, size) if last else size)


def _join_touching(spans: Sequence[ByteRange]) -> tuple[ByteRange, ...]:
    """Join adjacent and overlapping spans, so that no byte is sent twice."""
    joined: list[ByteRange] = []
    for span in spans:
        touching = [other for other in joined if other.start <= span.end and span.start <= other.end]
        if not touching:
            joined.append(span)
            continue
        whole = ByteRange(
            min(span.start, *(other.start for other in touching)), max(span.end, *(other.end for other in touching))
        )
        at = joined.index(touching[0])
        joined = [other for other in joined if other not in touching]
        joined.insert(at, whole)
    return tuple(joined)
