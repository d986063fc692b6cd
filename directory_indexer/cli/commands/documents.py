"""`dirindex documents`: list, print, refresh and delete documents that were sent."""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Literal

from directory_indexer.cli.commands import (
    ConfigFile,
    DataDir,
    InCollection,
    OrdinaryCall,
    Quiet,
    Verbose,
    open_app,
    parse_path,
    parse_range,
)
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Call, Command, Group, Option
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import ExitCode, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import path_of_place

with lazily:
    from directory_indexer.api.collections import (
        DeletedAnswer,
        SentAnswers,
        document_entry,
        sent_answer,
    )
    from directory_indexer.collections import Collections
    from directory_indexer.collections.documents import DocumentOperations
    from directory_indexer.collections.ingest import DocumentIngest, WaitUntil
    from directory_indexer.collections.originals import open_original
    from directory_indexer.integrations.exporting import require_free, staged_file
    from directory_indexer.search.file_texts import Selection, SelectionUnit
    from directory_indexer.storage.registry.stored_documents import DocumentState
    from directory_indexer.text import json_pages, results
    from directory_indexer.text.reports import document_fact_lines, document_lines, sent_lines


_Id = Annotated[str, Argument("The id of a document, from dirindex documents list.", metavar="ID")]
_Ids = Annotated[tuple[str, ...], Argument("The ids of documents, from dirindex documents list.", metavar="ID")]


class ListDocumentsCall(OrdinaryCall):
    """The command line of `documents list`."""

    state: Annotated[
        Literal["queued", "words", "complete", "failed", "deleting"] | None,
        Option(("--state",), "Only those in this state."),
    ] = None
    limit: Annotated[int, Option(("--limit", "-n"), "Maximum number.", minimum=1, maximum=1000)] = 100
    cursor: Annotated[str, Option(("--cursor",), "Continue where the last page ended.", shows_default=False)] = ""
    collection: InCollection = ""


def list_documents(call: ListDocumentsCall) -> None:
    """List the documents of a collection, and how far each is."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    page = DocumentOperations(Collections(open_app(call.config, call.data_dir, output))).documents(
        call.collection or DEFAULT,
        cursor=call.cursor,
        limit=call.limit,
        state=DocumentState(call.state) if call.state else None,
    )
    if call.as_json:
        output.data(json_pages.documents_json(page))
        return
    output.lines(document_lines(map(document_entry, page.documents)))
    if not page.documents and not (call.state or call.cursor):
        output.notes(["there are no documents; dirindex add FILE sends one"])
    if page.next_cursor:
        output.notes([f"there are more: --cursor {page.next_cursor}"])


class GetDocumentCall(OrdinaryCall):
    """The command line of `documents get`."""

    doc_id: _Id
    text: Annotated[bool, Option(("--text",), "Print its text as it was indexed.")] = False
    lines: Annotated[str, Option(("--lines",), "Only these lines.", metavar="N-M", shows_default=False)] = ""
    collection: InCollection = ""


def get_document(call: GetDocumentCall) -> None:
    """Show what is known of a document, or print its text."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    operations = DocumentOperations(Collections(open_app(call.config, call.data_dir, output)))
    if not call.text and not call.lines:
        entry = document_entry(operations.document(call.collection or DEFAULT, call.doc_id))
        if call.as_json:
            output.record(entry)
        else:
            output.lines(document_fact_lines(entry))
        return
    selection = Selection(SelectionUnit.LINES, *parse_range(call.lines, "--lines")) if call.lines else None
    file_text = operations.text(call.collection or DEFAULT, call.doc_id, selection)
    if call.as_json:
        output.data(json_pages.get_json(file_text))
    else:
        output.data(results.get_text(file_text, for_terminal=output.is_terminal))


class GetOriginalCall(Call):
    """The command line of `documents original`."""

    doc_id: _Id
    file: Annotated[Path, Argument("Where to write it; - for standard output.", parse=parse_path, metavar="FILE")]
    force: Annotated[bool, Option(("--force",), "Replace FILE if it exists.")] = False
    collection: InCollection = ""
    config: ConfigFile = None
    data_dir: DataDir = None
    quiet: Quiet = False
    verbose: Verbose = False


def get_original(call: GetOriginalCall) -> None:
    """Write a document byte for byte as it was sent."""
    output = Output(quiet=call.quiet)
    app = open_app(call.config, call.data_dir, output)
    original = DocumentOperations(Collections(app)).original(call.collection or DEFAULT, call.doc_id)
    with open_original(original.path) as source:
        if os.fspath(call.file) == "-":
            if output.is_terminal:
                raise UsageError("refusing to write a file to the terminal", hint="name a file to write, or use a pipe")
            shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        target = path_of_place(call.file)
        require_free(target, app.policies.walk.own, force=call.force)
        with staged_file(target, force=call.force) as draft, open(draft, "wb") as copy:
            shutil.copyfileobj(source, copy)
    output.notes([f"{call.file} holds {original.document.filename}"])


class DeleteDocumentsCall(OrdinaryCall):
    """The command line of `documents delete`."""

    doc_ids: _Ids
    collection: InCollection = ""


def delete_documents(call: DeleteDocumentsCall) -> None:
    """Delete documents and their originals, whatever their state."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    operations = DocumentOperations(Collections(open_app(call.config, call.data_dir, output)))
    for doc_id in call.doc_ids:
        operations.delete(call.collection or DEFAULT, doc_id)
        if not call.as_json:
            output.notes([f"{doc_id} is deleted"])
    if call.as_json:
        output.record(DeletedAnswer(tuple(call.doc_ids)))


class RefreshDocumentsCall(OrdinaryCall):
    """The command line of `documents refresh`."""

    doc_ids: _Ids
    allow_private: Annotated[bool, Option(("--allow-private",), "Also fetch from private networks.")] = False
    collection: InCollection = ""


def refresh_documents(call: RefreshDocumentsCall) -> ExitCode:
    """Fetch documents that have changed from their addresses again."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    collections = Collections(open_app(call.config, call.data_dir, output))
    ingest = DocumentIngest(collections, fetch=collections.fetch(allow_private=call.allow_private))
    sent = tuple(
        sent_answer(ingest.refresh(call.collection or DEFAULT, doc_id, wait=WaitUntil.COMPLETE))
        for doc_id in call.doc_ids
    )
    if call.as_json:
        output.record(SentAnswers(sent, ()))
    else:
        output.lines(sent_lines(sent))
    return ExitCode.INCOMPLETE if any(answer.document.state == "failed" for answer in sent) else ExitCode.DONE


COMMANDS = {
    "documents": Group(
        {
            "list": Command(ListDocumentsCall, list_documents),
            "get": Command(GetDocumentCall, get_document),
            "original": Command(GetOriginalCall, get_original),
            "delete": Command(DeleteDocumentsCall, delete_documents),
            "refresh": Command(RefreshDocumentsCall, refresh_documents),
        },
        help="""List, print, refresh and delete documents that were sent.

    `dirindex add` sends them.
    """,
    )
}
