"""The tools of a remote index: what each does with its arguments, here and on the other machine."""

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
    """What a tool gives back: text and structure say the same."""

    text: str
    result: object


class Call(NamedTuple):
    """A call of a tool: its arguments, where files may be read, and what waits for a server that is away."""

    arguments: Any
    allowed: Sequence[FilePath]
    patience: Patience


@dataclass(frozen=True, slots=True)
class Bridge:
    """This machine and the other one; threads may share it."""

    index: RemoteIndex
    files: LocalFiles


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """One tool: how it is listed, what it takes, and what it does."""

    name: str
    title: str
    description: str
    arguments: type
    run: Callable[[Bridge, Call], RemoteAnswer]
    is_read_only: bool = True


def _search(bridge: Bridge, call: Call) -> RemoteAnswer:
    asked: RemoteSearchArguments = call.arguments
    found = bridge.index.search(
        {
            "query": asked.query,
            "mode": str(asked.mode),
            "limit": asked.limit,
            **({"collections": list(asked.collections)} if asked.collections else {}),
            **({"types": list(asked.types)} if asked.types else {}),
        },
        call.patience,
    )
    n_hits = most_that_fit(
        len(found.results),
        lambda n: _fits(part := found._replace(results=found.results[:n]), hits_text(part, found), asked.max_tokens),
    )
    shown = found._replace(results=found.results[:n_hits])
    return RemoteAnswer(hits_text(shown, found), shown)


def _list_collections(bridge: Bridge, call: Call) -> RemoteAnswer:
    found = bridge.index.collections(call.patience)
    n_shown = most_that_fit(
        len(found.collections),
        lambda n: cost(object_for_models(found._replace(collections=found.collections[:n]))) <= _LIST_TOKENS,
    )
    shown = found._replace(collections=found.collections[:n_shown])
    return RemoteAnswer(collections_text(shown, len(found.collections)), shown)


def _get_document(bridge: Bridge, call: Call) -> RemoteAnswer:
    asked: GetDocumentArguments = call.arguments
    lines = f"{asked.start_line}-{asked.start_line + _MOST_LINES - 1}"
    found = bridge.index.document(asked.doc_id, asked.collection, lines, call.patience)
    whole = found.text.split("\n")
    n_lines = most_that_fit(len(whole), lambda n: _document_fits(_first_lines(found, whole[:n]), asked))
    part = _first_lines(found, whole[:n_lines])
    if not n_lines:
        n_shown = most_that_fit(
            len(whole[0]), lambda n: _document_fits(_first_lines(found, [f"{whole[0][:n]}…"]), asked)
        )
        part = _first_lines(found, [f"{whole[0][:n_shown]}…"])
    return RemoteAnswer(document_text(part, asked), part)


def _convert_to_text(bridge: Bridge, call: Call) -> RemoteAnswer:
    asked: ConvertFileArguments = call.arguments
    if is_url(asked.path):
        source, text = asked.path, bridge.files.convert_url(asked.path)
    else:
        document = bridge.files.convert(asked.path, call.allowed)
        source, text = display(document.path), document.markdown
    arguments = ConvertArguments(source, asked.start_line, DEFAULT, asked.max_tokens)
    answer = part_of_converted(source, text, arguments)
    return RemoteAnswer(converted_text(answer), answer)


def _ingest_url(bridge: Bridge, call: Call) -> RemoteAnswer:
    arguments: IngestUrlArguments = call.arguments
    sent = bridge.index.send_url(arguments.url, arguments.collection, call.patience)
    return RemoteAnswer(sent_text(sent, arguments.collection), sent)


def _convert_and_ingest(bridge: Bridge, call: Call) -> RemoteAnswer:
    asked: IngestFileArguments = call.arguments
    if is_url(asked.path):
        sent = bridge.index.send_url(asked.path, asked.collection, call.patience, title=asked.title, tags=asked.tags)
        return RemoteAnswer(sent_text(sent, asked.collection), sent)
    document = bridge.files.convert(asked.path, call.allowed)
    outgoing = OutgoingDocument(
        document.client_id, os.path.basename(display(document.path)), document.markdown, asked.title, asked.tags
    )
    sent = bridge.index.send(outgoing, asked.collection, call.patience)
    return RemoteAnswer(sent_text(sent, asked.collection), sent)


def _fits(answer: object, text: str, max_tokens: int) -> bool:
    return max(cost(object_for_models(answer)), cost(text)) <= max_tokens


def _document_fits(part: RemoteText, asked: GetDocumentArguments) -> bool:
    return _fits(part, document_text(part, asked), asked.max_tokens)


def _first_lines(found: RemoteText, lines: Sequence[str]) -> RemoteText:
    last = min(found.start_line + len(lines) - 1, found.end_line)
    return found._replace(text="\n".join(lines), end_line=last)


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
