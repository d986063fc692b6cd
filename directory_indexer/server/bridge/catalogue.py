"""Table of the tools of a remote index, and their implementation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from directory_indexer.config.collections import DEFAULT
from directory_indexer.converting.converter import is_url
from directory_indexer.paths import FilePath, display
from directory_indexer.remote.answers import RemoteText
from directory_indexer.remote.client import OutgoingDocument, RemoteIndex
from directory_indexer.remote.local_files import LocalFiles
from directory_indexer.remote.retrying import Patience
from directory_indexer.server.arguments import ConvertArguments
from directory_indexer.server.bridge.arguments import (
    CollectionsArguments,
    ConvertFileArguments,
    GetDocumentArguments,
    IngestFileArguments,
    IngestUrlArguments,
    RemoteSearchArguments,
)
from directory_indexer.server.bridge.wording import collections_text, document_text, hits_text, sent_text
from directory_indexer.server.budget import cost, most_that_fit
from directory_indexer.server.conversions import converted_text, part_of_converted
from directory_indexer.server.schemas import object_for_models

_MOST_LINES: Final = 20_000


class RemoteAnswer(NamedTuple):
    """The answer of a tool, as text and as a record with the same content."""

    text: str
    result: object


class Call(NamedTuple):
    """A call of a tool: its arguments, the directories that may be read, and the wait between attempts."""

    arguments: Any
    allowed: Sequence[FilePath]
    patience: Patience


@dataclass(frozen=True, slots=True)
class Bridge:
    """The remote index and the local files. Thread-safe."""

    index: RemoteIndex
    files: LocalFiles


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """One tool: its listing, its argument record and its implementation."""

    name: str
    title: str
    description: str
    arguments: type
    run: Callable[[Bridge, Call], RemoteAnswer]
    is_read_only: bool = True


def _search(bridge: Bridge, call: Call) -> RemoteAnswer:
    arguments: RemoteSearchArguments = call.arguments
    hits = bridge.index.search(
        {
            "query": arguments.query,
            "mode": str(arguments.mode),
            "limit": arguments.limit,
            **({"collections": list(arguments.collections)} if arguments.collections else {}),
            **({"types": list(arguments.types)} if arguments.types else {}),
        },
        call.patience,
    )
    n_hits = most_that_fit(
        len(hits.results),
        lambda n: _fits(part := hits._replace(results=hits.results[:n]), hits_text(part, hits), arguments.max_tokens),
    )
    page = hits._replace(results=hits.results[:n_hits])
    return RemoteAnswer(hits_text(page, hits), page)


def _list_collections(bridge: Bridge, call: Call) -> RemoteAnswer:
    collections = bridge.index.collections(call.patience)
    n_shown = most_that_fit(
        len(collections.collections),
        lambda n: (
            cost(object_for_models(collections._replace(collections=collections.collections[:n]))) <= _LIST_TOKENS
        ),
    )
    part = collections._replace(collections=collections.collections[:n_shown])
    return RemoteAnswer(collections_text(part, len(collections.collections)), part)


def _get_document(bridge: Bridge, call: Call) -> RemoteAnswer:
    arguments: GetDocumentArguments = call.arguments
    lines = f"{arguments.start_line}-{arguments.start_line + _MOST_LINES - 1}"
    document = bridge.index.document(arguments.doc_id, arguments.collection, lines, call.patience)
    whole = document.text.split("\n")
    n_lines = most_that_fit(len(whole), lambda n: _document_fits(_first_lines(document, whole[:n]), arguments))
    part = _first_lines(document, whole[:n_lines])
    if not n_lines:
        n_shown = most_that_fit(
            len(whole[0]), lambda n: _document_fits(_first_lines(document, [f"{whole[0][:n]}…"]), arguments)
        )
        part = _first_lines(document, [f"{whole[0][:n_shown]}…"])
    return RemoteAnswer(document_text(part, arguments), part)


def _convert_to_text(bridge: Bridge, call: Call) -> RemoteAnswer:
    arguments: ConvertFileArguments = call.arguments
    if is_url(arguments.path):
        source, text = arguments.path, bridge.files.convert_url(arguments.path)
    else:
        document = bridge.files.convert(arguments.path, call.allowed)
        source, text = display(document.path), document.markdown
    convert_arguments = ConvertArguments(source, arguments.start_line, DEFAULT, arguments.max_tokens)
    answer = part_of_converted(source, text, convert_arguments)
    return RemoteAnswer(converted_text(answer), answer)


def _ingest_url(bridge: Bridge, call: Call) -> RemoteAnswer:
    arguments: IngestUrlArguments = call.arguments
    sent = bridge.index.send_url(arguments.url, arguments.collection, call.patience)
    return RemoteAnswer(sent_text(sent, arguments.collection), sent)


def _convert_and_ingest(bridge: Bridge, call: Call) -> RemoteAnswer:
    arguments: IngestFileArguments = call.arguments
    if is_url(arguments.path):
        sent = bridge.index.send_url(
            arguments.path, arguments.collection, call.patience, title=arguments.title, tags=arguments.tags
        )
        return RemoteAnswer(sent_text(sent, arguments.collection), sent)
    document = bridge.files.convert(arguments.path, call.allowed)
    outgoing = OutgoingDocument(
        document.client_id, os.path.basename(display(document.path)), document.markdown, arguments.title, arguments.tags
    )
    sent = bridge.index.send(outgoing, arguments.collection, call.patience)
    return RemoteAnswer(sent_text(sent, arguments.collection), sent)


def _fits(answer: object, text: str, max_tokens: int) -> bool:
    return max(cost(object_for_models(answer)), cost(text)) <= max_tokens


def _document_fits(part: RemoteText, arguments: GetDocumentArguments) -> bool:
    return _fits(part, document_text(part, arguments), arguments.max_tokens)


def _first_lines(document: RemoteText, lines: Sequence[str]) -> RemoteText:
    last = min(document.start_line + len(lines) - 1, document.end_line)
    return document._replace(text="\n".join(lines), end_line=last)


_LIST_TOKENS: Final = 4000

REMOTE_TOOLS: Final = (
    RemoteTool(
        "search",
        "Search the remote index",
        "Find passages in the documents of the index server, by meaning and by words.",
        RemoteSearchArguments,
        _search,
    ),
    RemoteTool(
        "list_collections",
        "List collections",
        "List the collections of the index server that can be searched.",
        CollectionsArguments,
        _list_collections,
    ),
    RemoteTool(
        "get_document",
        "Read a document",
        "Read a document of the index server, from any line on.",
        GetDocumentArguments,
        _get_document,
    ),
    RemoteTool(
        "convert_to_text",
        "Convert a local file",
        "Read a local file of any format as Markdown, without its secrets. Nothing is sent.",
        ConvertFileArguments,
        _convert_to_text,
    ),
    RemoteTool(
        "convert_and_ingest",
        "Send a local file",
        "Convert a local file to Markdown, without its secrets, and send it to a collection of the index server, where "
        "everybody with a key may find it. The same file again replaces it.",
        IngestFileArguments,
        _convert_and_ingest,
        is_read_only=False,
    ),
    RemoteTool(
        "ingest_url",
        "Send an address",
        "Have the index server fetch a document from the web and keep it in a collection. The same again replaces it.",
        IngestUrlArguments,
        _ingest_url,
        is_read_only=False,
    ),
)
