"""`dirindex symbol`: find where a name is defined and who uses it."""

from typing import Annotated

from directory_indexer.cli.arguments import parse_location
from directory_indexer.cli.options import InCollection, OrdinaryCall, open_existing_app
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.errors import ExitCode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.api.symbols import symbol_answer
    from directory_indexer.search.symbols import find_symbol, symbol_notes, symbol_request
    from directory_indexer.text.symbols import symbol_lines

_MAX_TOKENS = 2000
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
    ] = _MAX_TOKENS
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
    with app.docstore.snapshot() as snapshot:
        result = find_symbol(snapshot, request)
    notes = (*changes, *symbol_notes(result))
    if call.as_json:
        output.record(symbol_answer(result, notes=notes))
    else:
        paths = output.paths if output.is_terminal else output.row_paths
        output.lines(symbol_lines(result, paths=paths, max_tokens=call.max_tokens))
        output.notes(notes)
    return ExitCode.DONE if result.is_any else ExitCode.INCOMPLETE


COMMAND = Command(SymbolCall, symbol)
