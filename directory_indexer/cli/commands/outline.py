"""`dirindex outline`: show the structure of files and directories."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.options import InCollection, NoServer, VerboseCall, open_existing_app
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.contents import OutlineList, outline_answer
    from directory_indexer.search.locators import outline_at, outline_of
    from directory_indexer.text.outlines import folded_note, outline_lines, outline_within, unfolding_command

if TYPE_CHECKING:
    from directory_indexer.search.outlines import Outline
    from directory_indexer.storage.documents.store import Snapshot

_MAX_TOKENS = 600


class OutlineCall(VerboseCall):
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
    with app.docstore.snapshot() as snapshot:
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
        yield outline_at(snapshot, os.fspath(parse_path(place)))
    if not places:
        yield from (outline_of(snapshot, root) for root in snapshot.directories.all())


COMMAND = Command(OutlineCall, outline)
