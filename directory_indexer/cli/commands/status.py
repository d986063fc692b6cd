"""`dirindex status`: show the state of the index."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import time
from pathlib import Path
from typing import Annotated

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
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.text import index_reports, json_pages

cli = new_command_line()


@cli.command()
def status(
    *,
    path: Annotated[
        Path | None, typer.Argument(parser=parse_path, help="Only the directory that this lies in.")
    ] = None,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    _no_server: NoServer = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Show what is indexed, and what was left out and why."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = open_existing_app(config, data_dir, output, collection)
    report = app.status.report(resolved_path(path) if path else None)
    if as_json:
        output.data(json_pages.status_json(report, verbose=verbose))
    else:
        output.lines(index_reports.status_lines(report, now=time.time(), paths=output.paths, verbose=verbose))
