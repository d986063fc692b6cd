"""Operations `/api/v1/ingest`, `/ingest_url` and `/files`: send documents, and wait until they are searchable."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from directory_indexer.api import HttpError, JsonObject
from directory_indexer.api.collections import IngestAnswer, IngestLine, document_entry
from directory_indexer.api.operations import Pool
from directory_indexer.collections import collection_not_found
from directory_indexer.collections.ingest import IngestEffect, IngestRequest, IngestResult, WaitUntil
from directory_indexer.collections.originals import read_pieces
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import DirIndexError, UnavailableError, UsageError
from directory_indexer.core.ids import document_id
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import display
from directory_indexer.integrations.converting.converter import is_url
from directory_indexer.server.mcp.arguments import ArgumentError, quote_value, require_no_conflict
from directory_indexer.server.mcp.tools import FETCH_URLS_HINT
from directory_indexer.server.middleware.request_context import Problem, RefusedError
from directory_indexer.server.rest import (
    HttpOperation,
    Reply,
    Services,
    StreamedRecords,
    Upload,
    require_collection_access,
)
from directory_indexer.server.rest.arguments import ConvertAndIngestCall, FileCall, IngestCall, RefreshCall, UrlCall
from directory_indexer.server.rest.background import PATH, ingest_operation_name, operation_id
from directory_indexer.server.rest.messages import lines_of_body, parse_object, problem_of_error, validate_call
from directory_indexer.storage.registry.stored_documents import DocumentState

with lazily:
    from typing import BinaryIO

_HTTP_CREATED, _HTTP_OK, _HTTP_ACCEPTED = 201, 200, 202
_BATCH_LINES = 50
"""The number of lines that are indexed together."""

_STATES_AFTER_WAITING = {
    WaitUntil.NONE: frozenset({DocumentState.COMPLETE, DocumentState.FAILED}),
    WaitUntil.WORDS: frozenset({DocumentState.WORDS, DocumentState.COMPLETE, DocumentState.FAILED}),
    WaitUntil.COMPLETE: frozenset({DocumentState.COMPLETE, DocumentState.FAILED}),
}
"""The document states that end the wait of a sender."""

URL_UNREACHABLE = Problem(502, "unreachable", "")


def ingest(services: Services, call: IngestCall) -> Reply:
    """Ingest a text."""
    request = _text_request(call)
    return _reply_with_state(services.ingesting.add_text(call.text, request), request)


def ingest_file(services: Services, upload: Upload) -> Reply:
    """Ingest a file as it is."""
    call: FileCall = upload.call
    request = _ingest_request(call, metadata=_file_metadata(call))
    media_type = _specified_media_type(upload.media_type)
    sent = services.ingesting.add_file(read_pieces(upload.content), request, media_type=media_type)
    return _reply_with_state(sent, request)


def max_upload_size(services: Services, call: FileCall, media_type: str) -> int:
    """Return the maximum size of a file in bytes."""
    return services.ingesting.max_file_bytes(
        call.collection, call.filename, media_type=_specified_media_type(media_type)
    )


def ingest_url(services: Services, call: UrlCall) -> Reply:
    """Fetch a document from the web and ingest it.

    Raises:
        UsageError: fetching is not enabled, or the metadata contain another URL.
        RefusedError: the web server cannot be reached.
    """
    _require_one_origin(call.metadata, url=call.url)
    request = _ingest_request(call, metadata=call.metadata)
    return _reply_with_state(
        _fetch_if_allowed(services, lambda: services.ingesting.add_url(call.url, request)), request
    )


async def convert_and_ingest(services: Services, call: ConvertAndIngestCall) -> Reply:
    """Ingest a document from the web, or an indexed file as Markdown."""
    if is_url(call.uri):
        return await services.executor.run(
            Pool.NETWORK, lambda: ingest_url(services, UrlCall(call.uri, call.collection))
        )
    return await services.executor.run(Pool.WRITE, lambda: _ingest_indexed_file(services, call))


def _ingest_indexed_file(services: Services, call: ConvertAndIngestCall) -> Reply:
    if not services.grants_collection(DEFAULT):
        raise collection_not_found(DEFAULT)
    path, text = services.executor.tools.converted_file(call.uri, DEFAULT)
    call_of_file = IngestCall(text, call.collection, id=document_id(path), filename=os.path.basename(display(path)))
    return ingest(services, call_of_file)


def refresh(services: Services, call: RefreshCall) -> Reply:
    """Fetch a document again.

    Raises:
        UsageError: fetching is not enabled.
        RefusedError: the web server cannot be reached.
    """
    request = IngestRequest(call.collection, wait=call.wait, seconds=call.wait_seconds)

    def again() -> IngestResult:
        return services.ingesting.refresh(
            call.collection, call.doc_id, wait=call.wait, seconds=float(call.wait_seconds)
        )

    return _reply_with_state(_fetch_if_allowed(services, again), request)


async def ingest_lines(services: Services, upload: Upload) -> StreamedRecords:
    """Ingest a text from each line, and answer each with a line; an error in one line does not affect others."""
    return StreamedRecords(_answer_lines(services, upload.call, upload.content))


async def _answer_lines(services: Services, operation: HttpOperation, file: BinaryIO) -> AsyncIterator[IngestLine]:
    with file:
        lines = enumerate(lines_of_body(file), start=1)
        while batch := list(itertools.islice(lines, _BATCH_LINES)):
            for answer in await services.executor.run(Pool.WRITE, partial(_ingest_batch, services, operation, batch)):
                yield answer


def _ingest_batch(services: Services, operation: HttpOperation, batch: Sequence[tuple[int, bytes]]) -> list[IngestLine]:
    """Ingest a batch of lines; all are stored before the batch is indexed."""
    stored = [(number, *_store_line(services, operation, line)) for number, line in batch]
    for collection in {
        request.collection for _, _, request, _ in stored if request and request.wait is not WaitUntil.NONE
    }:
        services.ingesting.index_while_sender_waits(
            collection, _longest_waiting_request(request for _, _, request, _ in stored if request)
        )
    return [_line_answer(services, number, sent, request, error) for number, sent, request, error in stored]


def _store_line(
    services: Services, operation: HttpOperation, line: bytes
) -> tuple[IngestResult | None, IngestRequest | None, HttpError | None]:
    try:
        call: IngestCall = validate_call(operation, parse_object(line))
        require_collection_access(operation, services.caller, call)
        request = _text_request(call)
        return services.ingesting.add_text(call.text, request._replace(wait=WaitUntil.NONE)), request, None
    except RefusedError as refused:
        return None, None, refused.problem.record()
    except DirIndexError as error:
        return None, None, problem_of_error(error).record()


def _line_answer(
    services: Services, number: int, sent: IngestResult | None, request: IngestRequest | None, error: HttpError | None
) -> IngestLine:
    if sent is None or request is None:
        return IngestLine(number, error.status_code if error else 500, error=error)
    document = services.documents.refresh_state(sent.document)
    reply = _reply_with_state(sent._replace(document=document), request)
    return IngestLine(number, reply.status, answer=reply.record)


def _longest_waiting_request(requests: Iterable[IngestRequest]) -> IngestRequest:
    return max(requests, key=lambda request: request.seconds or 0.0)


def _text_request(call: IngestCall) -> IngestRequest:
    return _ingest_request(call, metadata=call.metadata)._replace(url=_origin_in_metadata(call.metadata))


def _origin_in_metadata(metadata: Mapping[str, Any]) -> str:
    """Return the URL that a text comes from, by `source` and `url` of its metadata.

    Raises:
        ArgumentError: the two contradict each other.
    """
    source, url = metadata.get("source"), metadata.get("url")
    if source == "url" and isinstance(url, str) and url:
        return url
    if source == "url" or (source == "local" and url):
        raise ArgumentError(
            f"'metadata.source' is {quote_value(source)} and 'metadata.url' is {quote_value(url or '')}",
            hint="a text from an address has the source 'url' and its address, any other the source 'local' and none",
        )
    return ""


def _ingest_request(call: IngestCall | UrlCall | FileCall, *, metadata: Mapping[str, Any]) -> IngestRequest:
    return IngestRequest(
        collection=call.collection,
        client_id=call.id,
        filename=call.filename,
        title=call.title,
        sender_metadata=metadata,
        on_conflict=call.on_conflict,
        allows_secrets=call.allow_secrets,
        wait=call.wait,
        seconds=float(call.wait_seconds),
    )


def _file_metadata(call: FileCall) -> JsonObject:
    """Return the metadata of a file, which a query string can only contain as JSON and in separate arguments."""
    try:
        metadata = parse_object(call.metadata.encode()) if call.metadata else {}
    except (RefusedError, UnicodeEncodeError) as error:
        raise UsageError("'metadata' must be an object as JSON") from error
    _require_one_origin(metadata, collection=call.collection)
    return {
        **metadata,
        **({"authors": list(call.author)} if call.author else {}),
        **({"tags": list(call.tag)} if call.tag else {}),
    }


def _require_one_origin(metadata: Mapping[str, Any], **own: str) -> None:
    """Reject metadata with another value for an argument."""
    for name, value in own.items():
        if metadata.get(name) is not None:
            require_no_conflict((name, value), (f"metadata.{name}", metadata[name]))


def _reply_with_state(sent: IngestResult, request: IngestRequest) -> Reply:
    """Return the state of a document; the status is 202 if it has not reached the state that its sender waits for."""
    document = sent.document
    is_done = document.state in _STATES_AFTER_WAITING[request.wait] or sent.effect is IngestEffect.SKIPPED
    is_pending = document.state in {DocumentState.QUEUED, DocumentState.WORDS}
    operation = operation_id(document.collection, ingest_operation_name(document)) if is_pending else None
    answer = IngestAnswer(
        status="failed" if document.state is DocumentState.FAILED else "success",
        effect=sent.effect,
        doc_id=document.doc_id,
        state=document.state,
        chunks=document.n_chunks,
        document=document_entry(document),
        operation=operation,
    )
    status = (_HTTP_CREATED if sent.effect is IngestEffect.CREATED else _HTTP_OK) if is_done else _HTTP_ACCEPTED
    return Reply(answer, status, {} if is_done or operation is None else {"Location": f"{PATH}/{operation}"})


def _fetch_if_allowed(services: Services, fetch: Callable[[], IngestResult]) -> IngestResult:
    if not services.collections.app.loaded.config.serving.fetch_urls:
        raise UsageError("fetching from the web is disabled on this server", hint=FETCH_URLS_HINT)
    try:
        return fetch()
    except UnavailableError as error:
        if type(error) is not UnavailableError:  # a failure of this machine, not of the web server
            raise
        raise RefusedError(URL_UNREACHABLE._replace(detail=error.message)) from error


def _specified_media_type(text: str) -> str:
    return "" if text == _UNSPECIFIED_MEDIA_TYPE else text


_UNSPECIFIED_MEDIA_TYPE = "application/octet-stream"
