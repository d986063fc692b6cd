"""`dirindex similar`: find files similar to a file."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.cli.arguments import parse_location
from directory_indexer.cli.opening import open_existing_app
from directory_indexer.cli.options import (
    AsJson,
    ColorWhen,
    ConfigFile,
    Cursor,
    DataDir,
    InCollection,
    NoServer,
    Null,
    Quiet,
    ResultFormat,
    Verbose,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.cli.results import ResultOptions, form_of, show_result
from directory_indexer.core.errors import ExitCode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.api.cursors import parse_cursor
    from directory_indexer.text.results import View

_DEFAULT_LIMIT = 10

cli = new_command_line()


@cli.command()
def similar(
    *,
    file: Annotated[Path, typer.Argument(parser=parse_location, help="File to compare with; it need not be indexed.")],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(parser=parse_location, metavar="[PATH]...", help="Directories or files to search in."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many files.")] = _DEFAULT_LIMIT,
    cursor: Cursor = "",
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    _no_server: NoServer = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    result_format: ResultFormat = None,
    null: Null = False,
    color: ColorWhen = "auto",
    as_json: AsJson = False,
) -> None:
    """Find files like this one."""
    form = form_of(result_format, as_json=as_json, is_null=null)
    output = Output(quiet=quiet, verbose=verbose, as_json=form.startswith("json"), color=color)
    app = open_existing_app(config, data_dir, output, collection)
    within = tuple(dict.fromkeys(map(resolved_path, paths or ())))
    like = resolved_path(file)
    position = parse_cursor(cursor, question=("similar", like, *within))
    notes = app.refresh(within)
    unpaged = app.similar_files.find(like, within=within, limit=position.limit(limit))
    result = position.rest(unpaged._replace(notes=(*notes, *unpaged.notes)), limit=limit)
    show_result(
        result,
        output,
        app=app,
        index=lambda: app.status.checked(result.summary),
        how=ResultOptions(form, View.SCORED_FILES),
        position=position,
    )
    raise typer.Exit(ExitCode.DONE if result.hits and not result.is_weak else ExitCode.INCOMPLETE)
