"""The command `symbol`: where a name is defined and who uses it."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

from typing import Annotated

import typer

from directory_indexer.cli.arguments import parse_location
from directory_indexer.cli.opening import open_existing_app
from directory_indexer.cli.options import (
    AsJson,
    ConfigFile,
    DataDir,
    InCollection,
    Quiet,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import ExitCode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.api.symbols import symbol_answer
    from directory_indexer.search.symbols import find_symbol, symbol_notes, symbol_request
    from directory_indexer.text.json_pages import record_json
    from directory_indexer.text.symbols import symbol_lines

_MAX_TOKENS = 2000
_MOST_LEVELS = 5

cli = new_command_line()


@cli.command()
def symbol(
    *,
    name: Annotated[str, typer.Argument(help="A name, or Class.name, or module.name.")],
    places: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Directories or files to look in.")
    ] = None,
    calls: Annotated[bool, typer.Option("--calls", help="Also show who calls the callers.")] = False,
    tree: Annotated[
        int, typer.Option("--tree", min=0, max=_MOST_LEVELS, metavar="N", help="Show N levels of callers.")
    ] = 0,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=0, help="Show at most so many tokens; 0: show everything.")
    ] = _MAX_TOKENS,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show where a name is defined, who calls it, and its tests.

    What may be another thing of that name is marked with a question mark. Exits with 1 when the name is nowhere.
    """
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    scope = tuple(resolved_path(parse_location(place)) for place in places or ())
    request = symbol_request(name, scope=scope, depth=tree or 2 * calls)
    app = open_existing_app(config, data_dir, output, collection)
    changes = tuple(map(str, app.refresh(scope)))
    with app.docstore.snapshot() as snapshot:
        result = find_symbol(snapshot, request)
    notes = (*changes, *symbol_notes(result))
    if as_json:
        output.data(record_json(symbol_answer(result, notes=notes)))
    else:
        paths = output.paths if output.is_terminal else output.row_paths
        output.lines(symbol_lines(result, paths=paths, max_tokens=max_tokens))
        output.notes(notes)
    if not result.is_any:
        raise typer.Exit(ExitCode.INCOMPLETE)
