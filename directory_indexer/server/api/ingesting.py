"""`/api/v1/ingest`, `/ingest_url` and `/files`: documents are sent, and answered for when they can be found."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from directory_indexer.config.collections import DEFAULT
from directory_indexer.converting.converter import is_url
from directory_indexer.errors import DirIndexError, UnavailableError, UsageError
from directory_indexer.ids import document_id
from directory_indexer.lazy import lazily
from directory_indexer.paths import display
from directory_indexer.registry.stored_documents import State
from directory_indexer.server.api.arguments import ConvertAndIngestCall, FileCall, IngestCall, RefreshCall, UrlCall
from directory_indexer.server.api.bodies import lines_of, object_in
from directory_indexer.server.api.failures import problem_of
from directory_indexer.server.api.operations import Lines, Operation, Reply, Services, Upload
from directory_indexer.server.api.reading import call_of
from directory_indexer.server.api.runs import PATH, ingest_name, operation_id
from directory_indexer.server.arguments import ArgumentError, quoted, require_agreement
from directory_indexer.server.gate.problems import Problem, RefusedError
from directory_indexer.server.tools import FETCH_URLS
from directory_indexer.team.collections import no_collection
from directory_indexer.team.originals import pieces_of
from directory_indexer.team.sending import Effect, Sending, Sent, Wait
from directory_indexer.wire.errors import HttpError
from directory_indexer.wire.objects import JsonObject
from directory_indexer.wire.team import IngestAnswer, IngestLine, document_entry

with lazily:
    from typing import BinaryIO

_CREATED, _OK, _ACCEPTED = 201, 200, 202
_TOGETHER = 50
"""So many lines get their words at once."""

_SETTLED = {
    Wait.NONE: frozenset({State.COMPLETE, State.FAILED}),
    Wait.WORDS: frozenset({State.WORDS, State.COMPLETE, State.FAILED}),
    Wait.COMPLETE: frozenset({State.COMPLETE, State.FAILED}),
}
"""In which states a document is as far as its sender waits for."""

UNREACHABLE = Problem(502, "unreachable", "")


def ingest(services: Services, call: IngestCall) -> Reply:
    """Take a text."""
    sending = _sending_of_text(call)
    return _reply(services.ingesting.add_text(call.text, sending), sending)


def ingest_file(services: Services, upload: Upload) -> Reply:
    """Take a file as it is."""
    call: FileCall = upload.call
    sending = _sending(call, filename=call.filename, said=_said(call))
    media_type = _media_type(upload.media_type)
    sent = services.ingesting.add_file(pieces_of(upload.content), sending, media_type=media_type)
    return _reply(sent, sending)


def longest_file(services: Services, call: FileCall, media_type: str) -> int:
    """Return how many bytes a file may have."""
    return services.ingesting.most_bytes(call.collection, call.filename, media_type=_media_type(media_type))


def ingest_url(services: Services, call: UrlCall) -> Reply:
    """Fetch a document from the web and take it.

    Raises:
        UsageError: the operator does not allow that, or the metadata name another address.
        RefusedError: its server cannot be reached.
    """
    _require_agreement(call.metadata, url=call.url)
    sending = _sending(call, filename=call.filename, said=call.metadata)
    return _reply(_fetched(services, lambda: services.ingesting.add_url(call.url, sending)), sending)


async def convert_and_ingest(services: Services, call: ConvertAndIngestCall) -> Reply:
    """Take a document from the web, or an indexed file as Markdown."""
    if is_url(call.uri):
        return await services.desk.remotely(lambda: ingest_url(services, UrlCall(call.uri, call.collection)))
    return await services.desk.patiently(lambda: _ingest_indexed_file(services, call))


def _ingest_indexed_file(services: Services, call: ConvertAndIngestCall) -> Reply:
    if not services.reaches(DEFAULT):
        raise no_collection(DEFAULT)
    path, text = services.desk.tools.converted_file(call.uri, DEFAULT)
    named = IngestCall(text, call.collection, id=document_id(path), filename=os.path.basename(display(path)))
    return ingest(services, named)


def refresh(services: Services, call: RefreshCall) -> Reply:
    """Fetch a document again.

    Raises:
        UsageError: the operator does not allow that.
        RefusedError: its server cannot be reached.
    """
    sending = Sending(call.collection, wait=call.wait, seconds=call.wait_seconds)

    def again() -> Sent:
        return services.ingesting.refresh(
            call.collection, call.doc_id, wait=call.wait, seconds=float(call.wait_seconds)
        )

    return _reply(_fetched(services, again), sending)


async def ingest_lines(services: Services, upload: Upload) -> Lines:
    """Take a text from each line, and answer a line for each: what is wrong with one keeps no other back."""
    return Lines(_answers(services, upload.call, upload.content))


async def _answers(services: Services, operation: Operation, file: BinaryIO) -> AsyncIterator[IngestLine]:
    with file:
        lines = enumerate(lines_of(file), start=1)
        while batch := list(itertools.islice(lines, _TOGETHER)):
            for one in await services.desk.patiently(partial(_taken, services, operation, batch)):
                yield one


def _taken(services: Services, operation: Operation, batch: Sequence[tuple[int, bytes]]) -> list[IngestLine]:
    """Take some lines; all of them are kept before the first one is given its words."""
    kept = [(number, *_kept(services, operation, line)) for number, line in batch]
    for collection in {sending.collection for _, _, sending, _ in kept if sending and sending.wait is not Wait.NONE}:
        services.ingesting.bring_up_to_date(collection, _longest(sending for _, _, sending, _ in kept if sending))
    return [_line(services, number, sent, sending, error) for number, sent, sending, error in kept]


def _kept(
    services: Services, operation: Operation, line: bytes
) -> tuple[Sent | None, Sending | None, HttpError | None]:
    try:
        call: IngestCall = call_of(operation, object_in(line))
        if services.caller is not None:
            operation.require_reach(services.caller, call)
        sending = _sending_of_text(call)
        return services.ingesting.add_text(call.text, sending._replace(wait=Wait.NONE)), sending, None
    except RefusedError as refused:
        return None, None, refused.problem.record()
    except DirIndexError as error:
        return None, None, problem_of(error).record()


def _line(
    services: Services, number: int, sent: Sent | None, sending: Sending | None, error: HttpError | None
) -> IngestLine:
    if sent is None or sending is None:
        return IngestLine(number, error.status_code if error else 500, error=error)
    document = services.documents.as_it_is(sent.document)
    reply = _reply(sent._replace(document=document), sending)
    return IngestLine(number, reply.status, answer=reply.record)


def _longest(sendings: Iterable[Sending]) -> Sending:
    return max(sendings, key=lambda one: one.seconds or 0.0)


def _sending_of_text(call: IngestCall) -> Sending:
    return _sending(call, filename=call.filename, said=call.metadata)._replace(url=_origin_of(call.metadata))


def _origin_of(metadata: Mapping[str, Any]) -> str:
    """Return the address that a text comes from, by `source` and `url` of its metadata.

    Raises:
        ArgumentError: they contradict each other.
    """
    source, url = metadata.get("source"), metadata.get("url")
    if source == "url" and isinstance(url, str) and url:
        return url
    if source == "url" or (source == "local" and url):
        raise ArgumentError(
            f"'metadata.source' is {quoted(source)} and 'metadata.url' is {quoted(url or '')}",
            hint="a text from an address has the source 'url' and its address, any other the source 'local' and none",
        )
    return ""


def _sending(call: IngestCall | UrlCall | FileCall, *, filename: str, said: Mapping[str, Any]) -> Sending:
    return Sending(
        collection=call.collection,
        client_id=call.id,
        filename=filename,
        title=call.title,
        said=said,
        on_conflict=call.on_conflict,
        allows_secrets=call.allow_secrets,
        wait=call.wait,
        seconds=float(call.wait_seconds),
    )


def _said(call: FileCall) -> JsonObject:
    """Put together what is said of a file; a query string has no place for objects but as JSON."""
    try:
        said = object_in(call.metadata.encode()) if call.metadata else {}
    except (RefusedError, UnicodeEncodeError) as error:
        raise UsageError("'metadata' must be an object as JSON") from error
    _require_agreement(said, collection=call.collection)
    return {
        **said,
        **({"authors": list(call.author)} if call.author else {}),
        **({"tags": list(call.tag)} if call.tag else {}),
    }


def _require_agreement(metadata: Mapping[str, Any], **own: str) -> None:
    """Refuse metadata that have another value for an argument."""
    for name, value in own.items():
        if metadata.get(name) is not None:
            require_agreement((name, value), (f"metadata.{name}", metadata[name]))


def _reply(sent: Sent, sending: Sending) -> Reply:
    """Answer with how far a document is: 202 when it is not as far as its sender waits for."""
    document = sent.document
    is_done = document.state in _SETTLED[sending.wait] or sent.effect is Effect.SKIPPED
    goes_on = document.state in {State.QUEUED, State.WORDS}
    operation = operation_id(document.collection, ingest_name(document)) if goes_on else None
    answer = IngestAnswer(
        status="failed" if document.state is State.FAILED else "success",
        effect=sent.effect,
        doc_id=document.doc_id,
        state=document.state,
        chunks=document.n_chunks,
        document=document_entry(document),
        operation=operation,
    )
    status = (_CREATED if sent.effect is Effect.CREATED else _OK) if is_done else _ACCEPTED
    return Reply(answer, status, {} if is_done or operation is None else {"Location": f"{PATH}/{operation}"})


def _fetched(services: Services, fetch: Callable[[], Sent]) -> Sent:
    if not services.collections.loaded.config.serving.fetch_urls:
        raise UsageError("this server fetches nothing from the web", hint=FETCH_URLS)
    try:
        return fetch()
    except UnavailableError as error:
        if type(error) is not UnavailableError:  # what is wrong here, not there
            raise
        raise RefusedError(UNREACHABLE._replace(detail=error.message)) from error


def _media_type(text: str) -> str:
    return "" if text == _UNNAMED else text


_UNNAMED = "application/octet-stream"
