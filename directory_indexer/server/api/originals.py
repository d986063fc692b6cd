"""`/api/v1/documents/{doc_id}/original`: a document as it was sent, whole or in parts, never as a page to be shown."""

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

_WHOLE, _PART, _KNOWN = 200, 206, 304
_ATTEMPTS = 5

UNSATISFIABLE = Problem(416, "unsatisfiable_range", "no byte that is asked for is there")


def original(services: Services, call: OriginalCall) -> Reply | Stored:
    """Give a document as it was sent.

    Raises:
        NotIndexedError: there is no such document.
        RefusedError: no byte that is asked for is there.
    """
    found, file = _opened(services, call)
    headers = _headers(found)
    if call.if_none_match and is_known(call.if_none_match, found.etag):
        file.close()
        return Reply(None, _KNOWN, headers)
    size = found.document.n_bytes
    try:
        spans = spans_of(call.range, size) if call.range and still_fits(call.if_range, found.etag) else ()
    except UnsatisfiableError as error:
        file.close()
        raise RefusedError(UNSATISFIABLE._replace(detail=f"the document has {size} bytes")) from error
    return _in_parts(file, spans, size, headers) if spans else _as_a_whole(file, size, headers)


def _opened(services: Services, call: OriginalCall) -> tuple[Original, BinaryIO]:
    """Open an original that is the one that is known: it may be replaced meanwhile, and never is changed."""
    for _ in range(_ATTEMPTS):
        found = services.documents.original(call.collection, call.doc_id)
        try:
            file = open_original(found.path)
        except NotIndexedError:
            continue
        status = os.fstat(file.fileno())
        if (status.st_size, status.st_mtime_ns) == (found.document.n_bytes, found.document.mtime_ns):
            return found, file
        file.close()
    raise NotIndexedError("the original of this document is gone", hint="send it again")


def _headers(found: Original) -> dict[str, str]:
    """Say what it is, and that no browser is to show it: it is as its sender wanted it, scripts and all."""
    return {
        "ETag": found.etag,
        "Accept-Ranges": "bytes",
        "Content-Type": found.document.media_type,
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(found.document.filename, safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
    }


def _as_a_whole(file: BinaryIO, size: int, headers: Mapping[str, str]) -> Stored:
    return Stored(file, _WHOLE, {**headers, "Content-Length": str(size)}, ((b"", 0, size),))


def _in_parts(file: BinaryIO, spans: Sequence[Span], size: int, headers: Mapping[str, str]) -> Stored:
    if len(spans) == 1:
        (span,) = spans
        told = {"Content-Range": _place(span, size), "Content-Length": str(span.end - span.start)}
        return Stored(file, _PART, {**headers, **told}, ((b"", *span),))
    boundary = secrets.token_hex(16)
    kind = headers["Content-Type"]
    parts = tuple(
        (f"\r\n--{boundary}\r\nContent-Type: {kind}\r\nContent-Range: {_place(span, size)}\r\n\r\n".encode(), *span)
        for span in spans
    )
    ending = f"\r\n--{boundary}--\r\n".encode()
    length = len(ending) + sum(len(before) + end - start for before, start, end in parts)
    told = {"Content-Type": f"multipart/byteranges; boundary={boundary}", "Content-Length": str(length)}
    return Stored(file, _PART, {**headers, **told}, parts, ending)


def _place(span: Span, size: int) -> str:
    return f"bytes {span.start}-{span.end - 1}/{size}"
