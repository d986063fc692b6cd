"""`dirindex symbol` and `locate`: find a name with its users, and the places to read for a report."""

import sys
from collections.abc import Iterator
from typing import Annotated

from directory_indexer.cli.commands import InCollection, OrdinaryCall, open_existing_app, parse_location
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.errors import ExitCode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.api.symbols import locate_answer, symbol_answer
    from directory_indexer.search.issue_localisation import LocateRequest, LocateResult
    from directory_indexer.search.issue_localisation import locate as find_places
    from directory_indexer.search.symbols import find_symbol, symbol_notes, symbol_request
    from directory_indexer.text.formatting import count
    from directory_indexer.text.structure import located_lines, symbol_lines

_MAX_SYMBOL_TOKENS = 2000
_MAX_LEVELS = 5


class SymbolCall(OrdinaryCall):
    """The command line of `symbol`."""

    name: Annotated[str, Argument("A name, or Class.name, or module.name.")]
    places: Annotated[tuple[str, ...], Argument("Directories or files to look in.", metavar="[PATH]...")] = ()
    calls: Annotated[bool, Option(("--calls",), "Also show who calls the callers.")] = False
    tree: Annotated[
        int, Option(("--tree",), "Show N levels of callers.", minimum=0, maximum=_MAX_LEVELS, metavar="N")
    ] = 0
    max_tokens: Annotated[
        int, Option(("--max-tokens",), "Show at most this many tokens; 0: show everything.", minimum=0)
    ] = _MAX_SYMBOL_TOKENS
    collection: InCollection = ""


def symbol(call: SymbolCall) -> ExitCode:
    """Show where a name is defined, who calls it, and its tests.

    What may be another thing of that name is marked with a question mark. Exits with 1 when the name is nowhere.
    """
    output = Output(quiet=call.quiet, as_json=call.as_json)
    scope = tuple(resolved_path(parse_location(place)) for place in call.places)
    request = symbol_request(call.name, scope=scope, depth=call.tree or 2 * call.calls)
    app = open_existing_app(call.config, call.data_dir, output, call.collection)
    changes = tuple(map(str, app.refresh(scope)))
    with app.visible.snapshot() as snapshot:
        result = find_symbol(snapshot, request)
    notes = (*changes, *symbol_notes(result))
    if call.as_json:
        output.record(symbol_answer(result, notes=notes))
    else:
        paths = output.paths if output.is_terminal else output.row_paths
        output.lines(symbol_lines(result, paths=paths, max_tokens=call.max_tokens))
        output.notes(notes)
    return ExitCode.DONE if result.has_results else ExitCode.INCOMPLETE


_MAX_LOCATE_TOKENS = 8000
_MAX_BYTES = 1_000_000


class LocateCall(OrdinaryCall):
    """The command line of `locate`."""

    places: Annotated[tuple[str, ...], Argument("Directories or files to look in.", metavar="[PATH]...")] = ()
    text: Annotated[str, Option(("--text",), "Read the report from here, not from standard input.", metavar="TEXT")] = (
        ""
    )
    max_tokens: Annotated[int, Option(("--max-tokens",), "Maximum number of tokens to read.", minimum=200)] = (
        _MAX_LOCATE_TOKENS
    )
    all: Annotated[bool, Option(("--all",), "Also list files with much weaker evidence.")] = False
    collection: InCollection = ""


def locate(call: LocateCall) -> ExitCode:
    """Find what to read for a report on standard input.

    An issue, a stack trace, the output of a failing test or a diff: the files and lines to read, each with a reason.
    Exits with 1 when nothing is found.
    """
    output = Output(quiet=call.quiet, as_json=call.as_json)
    scope = tuple(resolved_path(parse_location(place)) for place in call.places)
    if not call.text and sys.stdin.isatty():
        output.notes(["paste the report, and end it with ^D on a line of its own"])
    report = call.text or sys.stdin.buffer.read(_MAX_BYTES).decode("utf-8", "replace")
    app = open_existing_app(call.config, call.data_dir, output, call.collection)
    changes = tuple(map(str, app.refresh(scope)))
    seconds = app.loaded.config.searching.embedding_ms / 1000
    request = LocateRequest(report, scope, max_tokens=call.max_tokens, embedding_seconds=seconds, with_weaker=call.all)
    result = find_places(app.visible, app.searcher, request)
    if call.as_json:
        output.record(locate_answer(result, notes=changes))
    else:
        output.lines(located_lines(result, paths=output.paths if output.is_terminal else output.row_paths))
        output.notes((*_omissions(result, call), *changes, *result.notes), are_dim=True)
    return ExitCode.DONE if result.has_results else ExitCode.INCOMPLETE


def _omissions(result: LocateResult, call: LocateCall) -> Iterator[str]:
    if result.n_left_out:
        budget = f"{call.max_tokens:,} tokens"
        yield f"{count(result.n_left_out, 'more file')} did not fit into {budget}; --max-tokens takes more"
    if result.n_weaker:
        yield f"{count(result.n_weaker, 'more file')} with much weaker evidence left out; --all lists them"


COMMANDS = {
    "symbol": Command(SymbolCall, symbol),
    "locate": Command(LocateCall, locate),
}
