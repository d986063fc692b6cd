"""`dirindex forget`: stop tracking a directory."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
from itertools import chain
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
    Quiet,
    Verbose,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import ConsentNeededError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import lies_in, resolved_path

with lazily:
    from directory_indexer.app import App
    from directory_indexer.indexing.roots import forgettable_path, require_forgettable
    from directory_indexer.storage.documents.queries import IndexScope
    from directory_indexer.text import json_pages
    from directory_indexer.text.formatting import count, printable

cli = new_command_line()


@cli.command()
def forget(
    *,
    path: Annotated[Path, typer.Argument(parser=parse_path, help="A tracked directory.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Stop tracking a directory, and remove its index entries.

    The files themselves stay as they are. On a terminal, it asks first.
    """
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = open_existing_app(config, data_dir, output, collection)
    if output.can_ask and not yes and not output.confirm(_consequence(app, path)):
        raise ConsentNeededError("nothing was removed")
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
        output.notes([f"{path} is no longer tracked; {count(n_files, 'file')} removed from the index"])
    output.notes(left_behind)


def _consequence(app: "App", path: Path) -> str:
    with app.docstore.snapshot() as snapshot:
        root = forgettable_path(os.fspath(path), snapshot)
        require_forgettable(root, app.policies.walk)
        directories = chain.from_iterable(snapshot.directory_counts.by_root().values())
        removed = [directory for directory in directories if lies_in(directory.path, root)]
        n_pages = snapshot.scans.counts(IndexScope((root,))).n_read
    parts = [
        count(sum(directory.n_files for directory in removed), "file"),
        count(sum(directory.n_chunks for directory in removed), "passage"),
        count(sum(directory.n_embedded for directory in removed), "vector"),
        *([f"what OCR has read of {count(n_pages, 'page')}"] if n_pages else []),
    ]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]} of {printable(os.fspath(path))}"
    return f"{listed} will be removed from the index; the files themselves stay"
