"""`dirindex add`: send documents (files, URLs or standard input) to a collection."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.opening import open_app
from directory_indexer.cli.options import AsJson, ConfigFile, DataDir, InCollection, Quiet, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.config.collections import DEFAULT
from directory_indexer.core.errors import DirIndexError, ExitCode, UsageError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.collections import Refusal, SentAnswers, sent_answer
    from directory_indexer.collections.collections import Collections
    from directory_indexer.collections.ingest import DocumentIngest, IngestRequest, IngestResult, OnConflict, Wait
    from directory_indexer.collections.originals import pieces_of
    from directory_indexer.text import json_pages
    from directory_indexer.text.reports import sent_lines

_URL = re.compile(r"https?://", re.IGNORECASE)
_STANDARD_INPUT = "-"

cli = new_command_line()


@cli.command()
def add(
    *,
    sources: Annotated[list[str], typer.Argument(metavar="FILE|URL|-", help="What to send; - is standard input.")],
    collection: InCollection = "",
    client_id: Annotated[
        str, typer.Option("--id", help="What you call it: the same again replaces it. Else its name or address does.")
    ] = "",
    filename: Annotated[str, typer.Option("--name", help="Its file name, which tells how it is read.")] = "",
    title: Annotated[str, typer.Option("--title", help="Its title.")] = "",
    authors: Annotated[list[str] | None, typer.Option("--author", help="Who wrote it.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="A tag, to find it by.")] = None,
    metadata_pairs: Annotated[
        list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Anything else to say of it.")
    ] = None,
    on_conflict: Annotated[
        Literal["replace", "skip", "error"], typer.Option("--on-conflict", help="If it is there already.")
    ] = "replace",
    wait: Annotated[
        Literal["none", "words", "complete"],
        typer.Option("--wait", help="Until it is kept, found by words, or by meaning, too."),
    ] = "complete",
    allow_secrets: Annotated[
        bool, typer.Option("--allow-secrets", help="Mask secrets in the index, and keep them in the original.")
    ] = False,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Fetch from addresses of a private network, too.")
    ] = False,
    create: Annotated[bool, typer.Option("--create", help="Make the collection if there is none.")] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Send documents to a collection.

    The collection keeps the originals; a document that is sent again replaces the earlier one.
    """
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    if len(sources) > 1 and (client_id or filename or title):
        raise UsageError("--id, --name and --title are for one document, not several", hint="send them one by one")
    sending = IngestRequest(
        collection=collection or DEFAULT,
        client_id=client_id,
        filename=filename,
        title=title,
        sender_metadata=_metadata(authors or (), tags or (), metadata_pairs or ()),
        on_conflict=OnConflict(on_conflict),
        allows_secrets=allow_secrets,
        wait=Wait.NONE,
    )
    collections = Collections(open_app(config, data_dir, output))
    if create and collection:
        collections.create(collection, if_missing=True)
    ingesting = DocumentIngest(collections, fetch=collections.fetch(allow_private=allow_private))
    with collections.using(sending.collection) as opened:
        opened.queue.recover()
        sent, refused = _send_all(ingesting, sources, sending, output)
        if wait != "none":
            opened.queue.index_words()
        if wait == "complete":
            opened.queue.complete()
        answers = tuple(
            sent_answer(document._replace(document=opened.documents.get(document.document.doc_id) or document.document))
            for document in sent
        )
    if as_json:
        output.data(json_pages.record_json(SentAnswers(answers, tuple(refused))))
    else:
        output.lines(sent_lines(answers))
    is_failed = any(answer.document.state == "failed" for answer in answers)
    raise typer.Exit(ExitCode.INCOMPLETE if refused or is_failed else ExitCode.DONE)


def _send_all(
    ingesting: DocumentIngest, sources: Sequence[str], sending: IngestRequest, output: Output
) -> "tuple[list[IngestResult], list[Refusal]]":
    """Send the sources in order; if there are several, a rejected one does not stop the others."""
    sent: list[IngestResult] = []
    refused: list[Refusal] = []
    for source in sources:
        try:
            sent.append(_send(ingesting, source, sending))
        except DirIndexError as error:
            if len(sources) == 1:
                raise
            refused.append(Refusal(source, error.message, error.hint))
            if not output.as_json:
                output.notes([f"{source}: {error.message}"])
    return sent, refused


def _send(ingesting: DocumentIngest, source: str, sending: IngestRequest) -> "IngestResult":
    if _URL.match(source):
        return ingesting.add_url(source, sending)
    if source == _STANDARD_INPUT:
        named = sending._replace(filename=sending.filename or "standard input.md")
        return ingesting.add_file(pieces_of(sys.stdin.buffer), named)
    path = os.path.expanduser(parse_path(source))
    if os.path.isdir(path):
        collection = "" if sending.collection == DEFAULT else f" --collection {sending.collection}"
        raise UsageError(f"'{source}' is a directory", hint=f"dirindex index {source}{collection} tracks it")
    try:
        with Path(path).open("rb") as file:
            return ingesting.add_file(
                pieces_of(file), sending._replace(filename=sending.filename or os.path.basename(path))
            )
    except FileNotFoundError as error:
        raise UsageError(f"'{source}' does not exist", hint="check the path; nothing was sent") from error


def _metadata(authors: Sequence[str], tags: Sequence[str], pairs: Sequence[str]) -> Mapping[str, Any]:
    metadata: dict[str, Any] = {}
    for pair in pairs:
        name, is_there, value = pair.partition("=")
        if not is_there or not name.strip():
            raise UsageError(f"--meta '{pair}' says nothing", hint="write --meta KEY=VALUE")
        metadata[name.strip()] = _value(value)
    return {**metadata, **({"authors": list(authors)} if authors else {}), **({"tags": list(tags)} if tags else {})}


def _value(text: str) -> object:
    """Return numbers and lists as such, and anything else as text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float | list) else text
