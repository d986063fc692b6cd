"""Operation `/api/v1/documents/{doc_id}/original`: a document as it was sent, as an attachment or byte ranges of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from typing import BinaryIO
from urllib.parse import quote

from directory_indexer.errors import NotIndexedError
from directory_indexer.server.api.arguments import OriginalCall
from directory_indexer.server.api.operations import Reply, Services, Stored
from directory_indexer.server.api.ranges import Span, UnsatisfiableError, is_known, spans_of, still_fits
from directory_indexer.server.gate.problems import Problem, RefusedError
from directory_indexer.team.documents import Original
from directory_indexer.team.originals import open_original

_OK, _PARTIAL_CONTENT, _NOT_MODIFIED = 200, 206, 304
_ATTEMPTS = 5

UNSATISFIABLE = Problem(416, "unsatisfiable_range", "no byte that is asked for is there")


def original(services: Services, call: OriginalCall) -> Reply | Stored:
    """Return a document as it was sent.

    Raises:
        NotIndexedError: there is no such document.
        RefusedError: the requested range is not satisfiable.
    """
    original, file = _open_unchanged(services, call)
    headers = _headers(original)
    if call.if_none_match and is_known(call.if_none_match, original.etag):
        file.close()
        return Reply(None, _NOT_MODIFIED, headers)
    size = original.document.n_bytes
    try:
        spans = spans_of(call.range, size) if call.range and still_fits(call.if_range, original.etag) else ()
    except UnsatisfiableError as error:
        file.close()
        raise RefusedError(UNSATISFIABLE._replace(detail=f"the document has {size} bytes")) from error
    return _byte_ranges(file, spans, size, headers) if spans else _whole_file(file, size, headers)


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


def _whole_file(file: BinaryIO, size: int, headers: Mapping[str, str]) -> Stored:
    return Stored(file, _OK, {**headers, "Content-Length": str(size)}, ((b"", 0, size),))


def _byte_ranges(file: BinaryIO, spans: Sequence[Span], size: int, headers: Mapping[str, str]) -> Stored:
    if len(spans) == 1:
        (span,) = spans
        part_headers = {"Content-Range": _content_range(span, size), "Content-Length": str(span.end - span.start)}
        return Stored(file, _PARTIAL_CONTENT, {**headers, **part_headers}, ((b"", *span),))
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
    return Stored(file, _PARTIAL_CONTENT, {**headers, **part_headers}, parts, ending)


def _content_range(span: Span, size: int) -> str:
    return f"bytes {span.start}-{span.end - 1}/{size}"
