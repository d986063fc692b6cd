"""Stop tracking a directory."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.cli.given import given_path
from directory_indexer.cli.opening import open_existing_app
from directory_indexer.cli.options import (
    AsJson,
    ConfigFile,
    DataDir,
    InCollection,
    Quiet,
    Verbose,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.lazy import lazily
from directory_indexer.paths import resolved_path

with lazily:
    from directory_indexer.render import json_pages

cli = new_command_line()


@cli.command()
def forget(
    *,
    path: Annotated[Path, typer.Argument(parser=given_path, help="A tracked directory.")],
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Stop tracking a directory, and remove its index entries.

    The files themselves stay as they are.
    """
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = open_existing_app(config, data_dir, output, collection)
    with output.progress() as listener:
        n_files = app.indexer.forget(os.fspath(path), listener=listener)
    left_behind = app.docstore.upkeep.left_behind()
    log = app.loaded.data_dir / "dirindex.log"
    try:
        log.unlink(missing_ok=True)
    except OSError as error:
        left_behind.append(f"'{log}' cannot be removed, and may name its files: {error.strerror}")
    if as_json:
        output.data(json_pages.forget_json(resolved_path(path), n_files=n_files))
    else:
        output.notes([f"{path} is no longer tracked; {n_files:,} files removed from the index"])
    output.notes(left_behind)
