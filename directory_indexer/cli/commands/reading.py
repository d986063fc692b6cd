"""`dirindex get` and `outline`: print the indexed text of files, and show their structure."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from directory_indexer.cli.commands import (
    InCollection,
    NoServer,
    OrdinaryCall,
    open_existing_app,
    parse_path,
    parse_range,
)
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily

if TYPE_CHECKING:
    from directory_indexer.search.file_texts import FileText
    from directory_indexer.search.outlines import Outline
    from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from directory_indexer.api.contents import OutlineList, outline_answer
    from directory_indexer.search.file_texts import Selection, SelectionUnit, read_text
    from directory_indexer.search.locators import outline_of, outline_of_locator, parse_locator, resolve_selection
    from directory_indexer.text import json_pages, results
    from directory_indexer.text.structure import folded_note, outline_lines, outline_within, unfolding_command


class GetCall(OrdinaryCall):
    """The command line of `get`."""

    files: Annotated[
        tuple[str, ...],
        Argument("Indexed files, or parts: FILE:10-40, FILE@3 (page), FILE#Heading.", metavar="FILE..."),
    ]
    chunks: Annotated[str | None, Option(("--chunks",), "Only these chunks.", metavar="N-M")] = None
    lines: Annotated[str | None, Option(("--lines",), "Only these lines.", metavar="N-M")] = None
    pages: Annotated[str | None, Option(("--pages",), "Only these pages.", metavar="N-M")] = None
    is_numbered: Annotated[bool, Option(("--number", "-N"), "Write the number of each line.")] = False
    collection: InCollection = ""
    no_server: NoServer = False


def get(call: GetCall) -> None:
    """Print the indexed text of files, or of parts of them."""
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    selection = _selection(chunks=call.chunks, lines=call.lines, pages=call.pages)
    names = [os.fspath(parse_path(file)) for file in call.files]
    app = open_existing_app(call.config, call.data_dir, output, call.collection)
    with app.visible.snapshot() as snapshot:
        texts = [_text(snapshot, name, selection) for name in names]
    if call.as_json:
        output.data(json_pages.get_json(texts[0]) if len(texts) == 1 else json_pages.texts_json(texts))
        return
    for text in texts:
        if len(texts) > 1:
            output.data(results.title_line(text, paths=output.paths))
        output.data(results.get_text(text, for_terminal=output.is_terminal, is_numbered=call.is_numbered))
        output.notes(results.get_notes(text, paths=output.paths))


def _text(snapshot: "Snapshot", file: str, selection: "Selection | None") -> "FileText":
    named = parse_locator(snapshot, file)
    if selection is None:
        return read_text(snapshot, named.path, resolve_selection(snapshot, named))
    if named.selection or named.heading:
        raise UsageError(f"'{file}' names a part, and so does --{selection.unit}", hint="leave one of them out")
    return read_text(snapshot, named.path, selection)


def _selection(*, chunks: str | None, lines: str | None, pages: str | None) -> "Selection | None":
    units = ((SelectionUnit.CHUNKS, chunks), (SelectionUnit.LINES, lines), (SelectionUnit.PAGES, pages))
    selections = [(unit, text) for unit, text in units if text is not None]
    if not selections:
        return None
    if len(selections) > 1:
        raise UsageError("give one of --chunks, --lines and --pages, not several")
    unit, text = selections[0]
    return Selection(unit, *parse_range(text, f"--{unit}"))


_MAX_TOKENS = 600


class OutlineCall(OrdinaryCall):
    """The command line of `outline`."""

    places: Annotated[
        tuple[str, ...], Argument("Default: all tracked directories.", metavar="[FILE|DIR|FILE#HEADING]...")
    ] = ()
    max_tokens: Annotated[
        int, Option(("--max-tokens",), "Fold each outline to this many tokens; 0: show everything.", minimum=0)
    ] = _MAX_TOKENS
    collection: InCollection = ""
    no_server: NoServer = False


def outline(call: OutlineCall) -> None:
    """Show the headings, symbols or pages of files, with sizes.

    Of a directory, show what it holds.
    """
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    app = open_existing_app(call.config, call.data_dir, output, call.collection)
    with app.visible.snapshot() as snapshot:
        outlines = [outline_within(item, max_tokens=call.max_tokens) for item in _outlines(snapshot, call.places)]
    if call.as_json:
        output.record(OutlineList(tuple(map(outline_answer, outlines))))
        return
    for entry in outlines:
        output.lines(outline_lines(entry, paths=output.paths if output.is_terminal else output.row_paths))
        if note := folded_note(entry, max_tokens=call.max_tokens):
            output.notes([note, unfolding_command(entry, paths=output.paths, max_tokens=call.max_tokens)])


def _outlines(snapshot: "Snapshot", places: Sequence[str]) -> "Iterator[Outline]":
    for place in places:
        yield outline_of_locator(snapshot, os.fspath(parse_path(place)))
    if not places:
        yield from (outline_of(snapshot, root) for root in snapshot.directories.all())


COMMANDS = {
    "get": Command(GetCall, get),
    "outline": Command(OutlineCall, outline),
}
