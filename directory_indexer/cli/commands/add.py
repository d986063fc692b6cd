"""`dirindex add`: send documents (files, URLs or standard input) to a collection."""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from directory_indexer.cli.commands import InCollection, OrdinaryCall, open_app, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import DirIndexError, ExitCode, UsageError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.collections import Refusal, SentAnswers, sent_answer
    from directory_indexer.collections import Collections
    from directory_indexer.collections.ingest import DocumentIngest, IngestRequest, IngestResult, OnConflict, WaitUntil
    from directory_indexer.collections.originals import read_pieces
    from directory_indexer.text.reports import sent_lines

_URL = re.compile(r"https?://", re.IGNORECASE)
_STANDARD_INPUT = "-"


class AddCall(OrdinaryCall):
    """The command line of `add`."""

    sources: Annotated[tuple[str, ...], Argument("Files or URLs to send; - is standard input.", metavar="FILE|URL|-")]
    collection: InCollection = ""
    client_id: Annotated[
        str, Option(("--id",), "Your own id; sending it again replaces the document. Default: its name or URL.")
    ] = ""
    filename: Annotated[str, Option(("--name",), "Its file name, which decides its format.")] = ""
    title: Annotated[str, Option(("--title",), "Its title.")] = ""
    authors: Annotated[tuple[str, ...], Option(("--author",), "Who wrote it.")] = ()
    tags: Annotated[tuple[str, ...], Option(("--tag",), "A tag; may be repeated.")] = ()
    metadata_pairs: Annotated[tuple[str, ...], Option(("--meta",), "Extra metadata.", metavar="KEY=VALUE")] = ()
    on_conflict: Annotated[
        Literal["replace", "skip", "error"], Option(("--on-conflict",), "What to do if it exists already.")
    ] = "replace"
    wait: Annotated[
        Literal["none", "words", "complete"],
        Option(("--wait",), "Wait until it is stored, keyword-searchable or fully indexed."),
    ] = "complete"
    allow_secrets: Annotated[
        bool, Option(("--allow-secrets",), "Mask secrets in the index, and keep them in the original.")
    ] = False
    allow_private: Annotated[bool, Option(("--allow-private",), "Also fetch from private networks.")] = False
    create: Annotated[bool, Option(("--create",), "Create the collection if it does not exist.")] = False


def add(call: AddCall) -> ExitCode:
    """Send documents to a collection.

    The collection keeps the originals; a document that is sent again replaces the earlier one.
    """
    output = Output(quiet=call.quiet, as_json=call.as_json)
    if len(call.sources) > 1 and (call.client_id or call.filename or call.title):
        raise UsageError("--id, --name and --title are for one document, not several", hint="send them one by one")
    request = IngestRequest(
        collection=call.collection or DEFAULT,
        client_id=call.client_id,
        filename=call.filename,
        title=call.title,
        sender_metadata=_metadata(call.authors, call.tags, call.metadata_pairs),
        on_conflict=OnConflict(call.on_conflict),
        allows_secrets=call.allow_secrets,
        wait=WaitUntil.NONE,
    )
    collections = Collections(open_app(call.config, call.data_dir, output))
    if call.create and call.collection:
        collections.create(call.collection, if_missing=True)
    ingest = DocumentIngest(collections, fetch=collections.fetch(allow_private=call.allow_private))
    with collections.opened(request.collection) as opened:
        opened.queue.recover()
        sent, refused = _send_all(ingest, call.sources, request, output)
        if call.wait != "none":
            opened.queue.make_keyword_searchable()
        if call.wait == "complete":
            opened.queue.complete()
        answers = tuple(
            sent_answer(document._replace(document=opened.documents.get(document.document.doc_id) or document.document))
            for document in sent
        )
    if call.as_json:
        output.record(SentAnswers(answers, tuple(refused)))
    else:
        output.lines(sent_lines(answers))
    is_failed = any(answer.document.state == "failed" for answer in answers)
    return ExitCode.INCOMPLETE if refused or is_failed else ExitCode.DONE


def _send_all(
    ingest: DocumentIngest, sources: Sequence[str], request: IngestRequest, output: Output
) -> "tuple[list[IngestResult], list[Refusal]]":
    """Send the sources in order; if there are several, a rejected one does not stop the others."""
    sent: list[IngestResult] = []
    refused: list[Refusal] = []
    for source in sources:
        try:
            sent.append(_send(ingest, source, request))
        except DirIndexError as error:
            if len(sources) == 1:
                raise
            refused.append(Refusal(source, error.message, error.hint))
            if not output.as_json:
                output.notes([f"{source}: {error.message}"])
    return sent, refused


def _send(ingest: DocumentIngest, source: str, request: IngestRequest) -> "IngestResult":
    if _URL.match(source):
        return ingest.add_url(source, request)
    if source == _STANDARD_INPUT:
        named_request = request._replace(filename=request.filename or "standard input.md")
        return ingest.add_file(read_pieces(sys.stdin.buffer), named_request)
    path = os.path.expanduser(parse_path(source))
    if os.path.isdir(path):
        collection = "" if request.collection == DEFAULT else f" --collection {request.collection}"
        raise UsageError(f"'{source}' is a directory", hint=f"dirindex index {source}{collection} tracks it")
    try:
        with Path(path).open("rb") as file:
            filename = request.filename or os.path.basename(path)
            named_request = request._replace(filename=filename, sender_path=os.path.realpath(path))
            return ingest.add_file(read_pieces(file), named_request)
    except FileNotFoundError as error:
        raise UsageError(f"'{source}' does not exist", hint="check the path; nothing was sent") from error


def _metadata(authors: Sequence[str], tags: Sequence[str], pairs: Sequence[str]) -> Mapping[str, Any]:
    metadata: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--meta '{pair}' has no key or no value", hint="write --meta KEY=VALUE")
        metadata[name.strip()] = _value(value)
    return {**metadata, **({"authors": list(authors)} if authors else {}), **({"tags": list(tags)} if tags else {})}


def _value(text: str) -> object:
    """Return numbers and lists as such, and anything else as text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float | list) else text


COMMANDS = {"add": Command(AddCall, add)}
