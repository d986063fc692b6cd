"""`dirindex documents`: list, print, refresh and delete documents that were sent."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.opening import open_app
from directory_indexer.cli.options import (
    AsJson,
    ConfigFile,
    DataDir,
    InCollection,
    Quiet,
    first_and_last,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.config.collections import DEFAULT
from directory_indexer.core.errors import ExitCode, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import place_path

with lazily:
    from directory_indexer.api.collections import (
        DeletedAnswer,
        SentAnswers,
        document_entry,
        documents_answer,
        sent_answer,
    )
    from directory_indexer.collections.collections import Collections
    from directory_indexer.collections.documents import DocumentOperations
    from directory_indexer.collections.ingest import DocumentIngest, Wait
    from directory_indexer.collections.originals import open_original
    from directory_indexer.integrations.exporting.target import draft_of, require_free
    from directory_indexer.search.texts import Selection, Unit
    from directory_indexer.storage.registry.stored_documents import State
    from directory_indexer.text import json_pages, results
    from directory_indexer.text.reports import document_lines, fact_lines, sent_lines

cli = new_command_line()

_Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a document, as list shows it.")]
_Ids = Annotated[list[str], typer.Argument(metavar="ID", help="The ids of documents, as list shows them.")]


@cli.callback()
def documents() -> None:
    """List, print, refresh and delete documents that were sent.

    `dirindex add` sends them.
    """


@cli.command("list")
def list_documents(
    *,
    state: Annotated[
        Literal["queued", "words", "complete", "failed", "deleting"] | None,
        typer.Option("--state", help="Only those in this state."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many.")] = 100,
    cursor: Annotated[
        str, typer.Option("--cursor", help="Continue where the last page ended.", show_default=False)
    ] = "",
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """List the documents of a collection, and how far each is."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    page = DocumentOperations(Collections(open_app(config, data_dir, output))).documents(
        collection or DEFAULT, cursor=cursor, limit=limit, state=State(state) if state else None
    )
    if as_json:
        output.data(json_pages.record_json(documents_answer(page)))
        return
    output.lines(document_lines(map(document_entry, page.documents)))
    if not page.documents and not (state or cursor):
        output.notes(["there are no documents; dirindex add FILE sends one"])
    if page.next_cursor:
        output.notes([f"there are more: --cursor {page.next_cursor}"])


@cli.command("get")
def get_document(
    *,
    doc_id: _Id,
    text: Annotated[bool, typer.Option("--text", help="Print its text as it was indexed.")] = False,
    lines: Annotated[str, typer.Option("--lines", metavar="N-M", help="Only these lines.", show_default=False)] = "",
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show what is known of a document, or print its text."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    verbs = DocumentOperations(Collections(open_app(config, data_dir, output)))
    if not text and not lines:
        entry = document_entry(verbs.document(collection or DEFAULT, doc_id))
        if as_json:
            output.data(json_pages.record_json(entry))
        else:
            output.lines(fact_lines(entry))
        return
    selection = Selection(Unit.LINES, *first_and_last(lines, "--lines")) if lines else None
    file_text = verbs.text(collection or DEFAULT, doc_id, selection)
    if as_json:
        output.data(json_pages.get_json(file_text))
    else:
        output.data(results.get_text(file_text, for_terminal=output.is_terminal))


@cli.command("original")
def get_original(
    *,
    doc_id: _Id,
    file: Annotated[
        Path, typer.Argument(parser=parse_path, metavar="FILE", help="Where to write it; - for standard output.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
) -> None:
    """Write a document byte for byte as it was sent."""
    output = Output(quiet=quiet, verbose=False, as_json=False)
    app = open_app(config, data_dir, output)
    original = DocumentOperations(Collections(app)).original(collection or DEFAULT, doc_id)
    with open_original(original.path) as source:
        if os.fspath(file) == "-":
            if output.is_terminal:
                raise UsageError("a terminal is no place for a file", hint="name a file to write, or use a pipe")
            shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        target = place_path(file)
        require_free(target, app.policies.walk.own, force=force)
        with draft_of(target, force=force) as draft, open(draft, "wb") as copy:
            shutil.copyfileobj(source, copy)
    output.notes([f"{file} holds {original.document.filename}"])


@cli.command("delete")
def delete_documents(
    *,
    doc_ids: _Ids,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Delete documents and their originals, whatever their state."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    verbs = DocumentOperations(Collections(open_app(config, data_dir, output)))
    for doc_id in doc_ids:
        verbs.delete(collection or DEFAULT, doc_id)
        if not as_json:
            output.notes([f"{doc_id} is deleted"])
    if as_json:
        output.data(json_pages.record_json(DeletedAnswer(tuple(doc_ids))))


@cli.command("refresh")
def refresh_documents(
    *,
    doc_ids: _Ids,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Fetch from addresses of a private network, too.")
    ] = False,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fetch documents that have changed from their addresses again."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    collections = Collections(open_app(config, data_dir, output))
    ingesting = DocumentIngest(collections, fetch=collections.fetch(allow_private=allow_private))
    sent = tuple(
        sent_answer(ingesting.refresh(collection or DEFAULT, doc_id, wait=Wait.COMPLETE)) for doc_id in doc_ids
    )
    if as_json:
        output.data(json_pages.record_json(SentAnswers(sent, ())))
    else:
        output.lines(sent_lines(sent))
    raise typer.Exit(
        ExitCode.INCOMPLETE if any(answer.document.state == "failed" for answer in sent) else ExitCode.DONE
    )
