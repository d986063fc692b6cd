"""Find what to read for an issue, a stack trace, a failing test or a diff."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import sys
from typing import Annotated

import typer

from directory_indexer.cli.arguments import parse_location
from directory_indexer.cli.opening import open_existing_app
from directory_indexer.cli.options import AsJson, ConfigFile, DataDir, InCollection, Quiet, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import ExitCode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.api.symbols import locate_answer
    from directory_indexer.search.locating import LocateRequest
    from directory_indexer.search.locating import locate as find_places
    from directory_indexer.text.json_pages import record_json
    from directory_indexer.text.symbols import located_lines

_MAX_TOKENS = 8000
_MOST_BYTES = 1_000_000

cli = new_command_line()


@cli.command()
def locate(
    *,
    places: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Directories or files to look in.")
    ] = None,
    text: Annotated[
        str, typer.Option("--text", metavar="TEXT", help="Read the report from here, not from standard input.")
    ] = "",
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=200, help="What there is to read takes at most so many tokens.")
    ] = _MAX_TOKENS,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find what to read for a report on standard input.

    An issue, a stack trace, the output of a failing test or a diff: the files and lines to read, each with a reason.
    Exits with 1 when nothing is found.
    """
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    scope = tuple(resolved_path(parse_location(place)) for place in places or ())
    report = text or sys.stdin.buffer.read(_MOST_BYTES).decode("utf-8", "replace")
    app = open_existing_app(config, data_dir, output, collection)
    changes = tuple(map(str, app.refresh(scope)))
    seconds = app.loaded.config.searching.embedding_ms / 1000
    request = LocateRequest(report, scope, max_tokens=max_tokens, embedding_seconds=seconds)
    result = find_places(app.docstore, app.searcher, request)
    if as_json:
        output.data(record_json(locate_answer(result, notes=changes)))
    else:
        output.lines(located_lines(result, paths=output.paths if output.is_terminal else output.row_paths))
        output.notes((*changes, *result.notes))
    if not result.is_any:
        raise typer.Exit(ExitCode.INCOMPLETE)
