"""`dirindex get`: print the indexed text of files."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
from typing import TYPE_CHECKING, Annotated

import typer

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.opening import open_existing_app
from directory_indexer.cli.options import (
    AsJson,
    ConfigFile,
    DataDir,
    InCollection,
    NoServer,
    Quiet,
    Verbose,
    first_and_last,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.search.locators import locator_selection, parse_locator
    from directory_indexer.search.texts import Selection, Unit, read_text
    from directory_indexer.text import json_pages, results

if TYPE_CHECKING:
    from directory_indexer.search.texts import FileText
    from directory_indexer.storage.documents.store import Snapshot

cli = new_command_line()


@cli.command()
def get(
    *,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Indexed files, or parts: FILE:10-40, FILE@3 (page), FILE#Heading."),
    ],
    chunks: Annotated[str | None, typer.Option("--chunks", metavar="N-M", help="Only these chunks.")] = None,
    lines: Annotated[str | None, typer.Option("--lines", metavar="N-M", help="Only these lines.")] = None,
    pages: Annotated[str | None, typer.Option("--pages", metavar="N-M", help="Only these pages.")] = None,
    is_numbered: Annotated[bool, typer.Option("--number", "-N", help="Write the number of each line.")] = False,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    _no_server: NoServer = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Print the indexed text of files, or of parts of them."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    selection = _selection(chunks=chunks, lines=lines, pages=pages)
    names = [os.fspath(parse_path(file)) for file in files]
    app = open_existing_app(config, data_dir, output, collection)
    with app.docstore.snapshot() as snapshot:
        texts = [_text(snapshot, name, selection) for name in names]
    if as_json:
        output.data(json_pages.get_json(texts[0]) if len(texts) == 1 else json_pages.texts_json(texts))
        return
    for text in texts:
        if len(texts) > 1:
            output.data(results.title_line(text, paths=output.paths))
        output.data(results.get_text(text, for_terminal=output.is_terminal, is_numbered=is_numbered))
        output.notes(results.get_notes(text, paths=output.paths))


def _text(snapshot: "Snapshot", file: str, selection: "Selection | None") -> "FileText":
    named = parse_locator(snapshot, file)
    if selection is None:
        return read_text(snapshot, named.path, locator_selection(snapshot, named))
    if named.selection or named.heading:
        raise UsageError(f"'{file}' names a part, and so does --{selection.unit}", hint="leave one of them out")
    return read_text(snapshot, named.path, selection)


def _selection(*, chunks: str | None, lines: str | None, pages: str | None) -> "Selection | None":
    units = ((Unit.CHUNKS, chunks), (Unit.LINES, lines), (Unit.PAGES, pages))
    selections = [(unit, text) for unit, text in units if text is not None]
    if not selections:
        return None
    if len(selections) > 1:
        raise UsageError("give one of --chunks, --lines and --pages, not several")
    unit, text = selections[0]
    return Selection(unit, *first_and_last(text, f"--{unit}"))
