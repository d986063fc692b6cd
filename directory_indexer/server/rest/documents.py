"""Operations below `/api/v1/documents`: list files and documents, return their text or original, and delete documents.

An original is an attachment, or byte ranges of it. Range requests and conditional requests are those of RFC 9110,
section 14.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import quote

from directory_indexer.api import format_timestamp
from directory_indexer.api.collections import document_entry
from directory_indexer.api.contents import DocumentFacts, DocumentList, TextAnswer, document_facts, text_answer
from directory_indexer.collections.documents import Original
from directory_indexer.collections.originals import open_original
from directory_indexer.config import documents_of
from directory_indexer.core.errors import ConflictError, NotIndexedError, UsageError
from directory_indexer.core.ids import DocId, document_id
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, lies_in
from directory_indexer.formats.document import FileFacts
from directory_indexer.formats.recognition import expected_kind
from directory_indexer.search.file_texts import Selection, SelectionUnit, read_text
from directory_indexer.server.mcp.content_answer import fit_content_answer
from directory_indexer.server.middleware.request_context import Problem, RefusedError
from directory_indexer.server.path_resolution import resolve_scope_directories
from directory_indexer.server.rest import Reply, Services, StreamedFile
from directory_indexer.server.rest.arguments import (
    DocumentCall,
    DocumentsCall,
    DocumentToolCall,
    ListedState,
    OriginalCall,
    SentDocumentCall,
)
from directory_indexer.storage.documents.files import FileFilter
from directory_indexer.storage.registry.stored_documents import DocumentState

with lazily:
    from directory_indexer.collections import OpenCollection
    from directory_indexer.storage.documents.files import IndexedFile
    from directory_indexer.storage.documents.store import Snapshot
    from directory_indexer.storage.registry.stored_documents import StoredDocument

_LAST_POSITION = 2**31
_MAX_CACHED_IDS = 10_000
_FILES_PART, _DOCUMENTS_PART = "f", "d"
"""The parts of a list: first the files of tracked directories, then sent documents."""

_DELETION_SECONDS = 20.0
_HTTP_ACCEPTED, _HTTP_NO_CONTENT = 202, 204


class DocumentIds:
    """Paths by document id, which is a hash: recently issued ids are cached.

    Others are found by hashing all paths, at two microseconds each.
    """

    def __init__(self) -> None:
        self._recent: OrderedDict[tuple[str, str], FilePath] = OrderedDict()

    def id_of(self, collection: str, path: FilePath) -> str:
        """Return the id of a path, and cache it."""
        doc_id = document_id(path)
        self._recent[collection, doc_id] = path
        self._recent.move_to_end((collection, doc_id))
        while len(self._recent) > _MAX_CACHED_IDS:
            self._recent.popitem(last=False)
        return doc_id

    def path(self, collection: str, snapshot: Snapshot, doc_id: str) -> FilePath:
        """Return the indexed file of an id.

        Raises:
            NotIndexedError: there is none.
        """
        recent = self._recent.get((collection, doc_id))
        path = recent or next((path for path in snapshot.files.paths() if document_id(path) == doc_id), None)
        if path is None:
            raise _document_not_found(doc_id)
        return path


def documents(services: Services, call: DocumentsCall) -> DocumentList:
    """List the files with text, sorted by path, followed by sent documents, sorted by id."""
    part, after = _parse_cursor(call.cursor)
    with services.collections.opened(call.collection) as opened:
        files: list[IndexedFile] = []
        if part == _FILES_PART and call.state is ListedState.ANY:
            files = _files(opened, call, FilePath(after))
        page_files = files[: call.limit]
        for file in page_files:
            services.document_ids.id_of(call.collection, file.path)
        facts = list(map(document_facts, page_files))
        if len(files) > len(page_files):
            return DocumentList(tuple(facts), _make_cursor(_FILES_PART, page_files[-1].path))
        if call.path:
            return DocumentList(tuple(facts), None)
        return _append_sent_documents(services, opened, call, facts, after if part == _DOCUMENTS_PART else "")


def document(services: Services, call: DocumentCall) -> TextAnswer:
    """Return the indexed text of a file or document, or a part of it.

    Raises:
        UsageError: several kinds of parts are requested, or one that does not exist.
        NotIndexedError: there is no such file or document.
    """
    selection = _requested_selection(call)
    with services.collections.opened(call.collection) as opened:
        stored = _find_sent(services, opened, call.doc_id)
        with opened.app.visible.snapshot() as snapshot:
            if stored is not None:
                return _text_of_sent_document(opened, snapshot, stored, selection)
            path = indexed_path(services, opened, snapshot, call.doc_id)
            text = read_text(snapshot, path, selection)
    return text_answer(text)._replace(doc_id=call.doc_id, filename=os.path.basename(path))


def document_within_budget(services: Services, call: DocumentToolCall) -> TextAnswer:
    """Return as much of the indexed text of a file or document as fits the token budget of an assistant.

    Raises:
        NotIndexedError: there is no such file or document, or it has no text yet.
    """
    selection = Selection(SelectionUnit.LINES, call.start_line, _LAST_POSITION)
    with services.collections.opened(call.collection) as opened, opened.app.visible.snapshot() as snapshot:
        text = read_text(snapshot, indexed_path(services, opened, snapshot, call.doc_id), selection)
    return fit_content_answer(text, max_tokens=call.max_tokens)


def indexed_path(services: Services, opened: OpenCollection, snapshot: Snapshot, doc_id: str) -> FilePath:
    """Return the indexed file of an id: one of a tracked directory, or a sent document.

    Raises:
        NotIndexedError: there is none.
    """
    stored = _find_sent(services, opened, doc_id)
    if stored is not None:
        return opened.originals.path_of(DocId(stored.doc_id), stored.stored_name)
    path = services.document_ids.path(opened.name, snapshot, doc_id)
    if lies_in(path, documents_of(opened.app.loaded)):
        raise _document_not_found(doc_id)
    return path


def delete(services: Services, call: SentDocumentCall) -> Reply:
    """Delete a sent document in any state.

    Raises:
        NotIndexedError: there is no such file or document.
        ConflictError: it is a file of a tracked directory.
    """
    with services.collections.opened(call.collection) as opened:
        if opened.documents.get(call.doc_id) is None:
            document(services, DocumentCall(call.doc_id, call.collection))
            raise ConflictError("this is a file of a tracked directory", hint="delete the file itself to remove it")
    is_gone = services.documents.delete(call.collection, call.doc_id, seconds=_DELETION_SECONDS)
    return Reply(None, _HTTP_NO_CONTENT if is_gone else _HTTP_ACCEPTED, {})


def _files(opened: OpenCollection, call: DocumentsCall, after: FilePath) -> list[IndexedFile]:
    own = documents_of(opened.app.loaded)
    with opened.app.visible.snapshot() as snapshot:
        file_filter = FileFilter(within=resolve_scope_directories(snapshot, call.path))
        files = (file for file in snapshot.files.in_order(file_filter, after=after) if not lies_in(file.path, own))
        return list(islice(files, call.limit + 1))


def _append_sent_documents(
    services: Services, opened: OpenCollection, call: DocumentsCall, facts: list[DocumentFacts], after: str
) -> DocumentList:
    """Fill up a page with sent documents; a page that is full of files continues with them."""
    n_free = call.limit - len(facts)
    state = None if call.state is ListedState.ANY else DocumentState(call.state)
    page = services.documents.documents(call.collection, cursor=after, limit=max(n_free, 1), state=state)
    if not n_free:
        return DocumentList(tuple(facts), _make_cursor(_DOCUMENTS_PART, after) if page.documents else None)
    facts += _facts_of_sent(opened, page.documents)
    return DocumentList(tuple(facts), _make_cursor(_DOCUMENTS_PART, page.next_cursor) if page.next_cursor else None)


def _facts_of_sent(opened: OpenCollection, documents: Sequence[StoredDocument]) -> Iterator[DocumentFacts]:
    paths = [opened.originals.path_of(DocId(document.doc_id), document.stored_name) for document in documents]
    known: dict[FilePath, FileFacts] = {}
    if paths:
        with opened.app.visible.snapshot() as snapshot:
            known = {file.path: file.facts for file in snapshot.files.in_order(FileFilter(within=tuple(paths)))}
    for stored, path in zip(documents, paths, strict=True):
        yield _sent_facts(stored, path, known.get(path) or FileFacts(expected_kind(path)))


def _sent_facts(stored: StoredDocument, path: FilePath, facts: FileFacts) -> DocumentFacts:
    return DocumentFacts(
        doc_id=stored.doc_id,
        filename=stored.filename,
        path=path,
        kind=facts.kind,
        title=facts.title or stored.title or None,
        language=facts.language or None,
        n_bytes=stored.n_bytes,
        modified_at=format_timestamp(stored.changed_at) or "",
        masked=stored.n_masked,
        sent=document_entry(stored),
    )


def _find_sent(services: Services, opened: OpenCollection, doc_id: str) -> StoredDocument | None:
    if opened.documents.get(doc_id) is None:
        return None
    return services.documents.document(opened.name, doc_id)


def _text_of_sent_document(
    opened: OpenCollection, snapshot: Snapshot, stored: StoredDocument, selection: Selection | None
) -> TextAnswer:
    """Return the text of a sent document, which is empty until it has been read."""
    path = opened.originals.path_of(DocId(stored.doc_id), stored.stored_name)
    try:
        answer = text_answer(read_text(snapshot, path, selection))
    except NotIndexedError:
        answer = _EMPTY_ANSWER._replace(path=path, kind=expected_kind(path), title=stored.title or None)
    return answer._replace(doc_id=stored.doc_id, filename=stored.filename, sent=document_entry(stored))


def _requested_selection(call: DocumentCall) -> Selection | None:
    units = ((SelectionUnit.LINES, call.lines), (SelectionUnit.PAGES, call.pages), (SelectionUnit.CHUNKS, call.chunks))
    ranges = [(unit, text) for unit, text in units if text]
    if len(ranges) > 1:
        raise UsageError("give one of lines, pages and chunks")
    if not ranges:
        return None
    unit, text = ranges[0]
    first, dash, last = text.partition("-")
    return Selection(unit, int(first), int(last) if last else _LAST_POSITION if dash else int(first))


def _make_cursor(part: str, after: str) -> str:
    return base64.urlsafe_b64encode((part + after).encode()).decode()


def _parse_cursor(cursor: str) -> tuple[str, str]:
    if not cursor:
        return _FILES_PART, ""
    try:
        content = base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise UsageError("invalid cursor: no list returned it", hint="repeat without cursor") from error
    if content[:1] not in {_FILES_PART, _DOCUMENTS_PART}:
        raise UsageError("invalid cursor: no list returned it", hint="repeat without cursor")
    return content[0], content[1:]


def _document_not_found(doc_id: str) -> NotIndexedError:
    return NotIndexedError(f"there is no document '{doc_id}'")


_EMPTY_ANSWER = TextAnswer(
    path="",
    kind="",
    title=None,
    language=None,
    metadata=None,
    text="",
    start_line=1,
    end_line=1,
    total_lines=0,
    total_chunks=0,
    changed=False,
    unread_pages=(),
    truncated=False,
    next_start_line=None,
    next_chunks=None,
)


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
    except RangeNotSatisfiableError as error:
        file.close()
        raise RefusedError(RANGE_NOT_SATISFIABLE._replace(detail=f"the document has {size} bytes")) from error
    return _byte_ranges(file, spans, size, headers) if spans else _whole_file(file, size, headers)


class ByteRange(NamedTuple):
    """A byte range; `end` is exclusive."""

    start: int
    end: int


class RangeNotSatisfiableError(Exception):
    """No requested byte exists."""


def parse_byte_ranges(header: str, size: int) -> tuple[ByteRange, ...]:
    """Parse a Range header; an invalid or unsupported one yields no spans, and the whole file is sent.

    Spans are in the requested order; adjacent or overlapping ones are joined.

    Raises:
        RangeNotSatisfiableError: no requested byte exists.
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
        raise RangeNotSatisfiableError
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
