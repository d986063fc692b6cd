"""`dirindex restore`: restore a backup."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import sys
from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.opening import open_app
from directory_indexer.cli.options import AsJson, ConfigFile, DataDir, Quiet, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import ConsentNeededError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.collections import restore_answer
    from directory_indexer.collections.restore import RestoreOptions
    from directory_indexer.collections.restore import restore as restore_backup
    from directory_indexer.text import json_pages
    from directory_indexer.text.reports import restore_notes

cli = new_command_line()


@cli.command()
def restore(
    *,
    source: Annotated[
        Path, typer.Argument(parser=parse_path, metavar="SOURCE", help="A directory that dirindex backup wrote.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it into the place of what is there, which is lost.")
    ] = False,
    accept_settings: Annotated[
        bool | None,
        typer.Option(
            "--accept-settings/--leave-settings",
            help="Take settings that run commands or name addresses, and keys; or restore everything else.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty data directory.

    With --replace, the backup replaces what the data directory holds.
    """
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    app = open_app(config, data_dir, output)
    can_answer = sys.stdin.isatty() and sys.stderr.isatty() and not as_json
    question = f"Everything in '{app.loaded.data_dir}' will be replaced by the backup. Do it?"
    if replace and not yes and not (can_answer and typer.confirm(question, err=True)):
        raise ConsentNeededError(
            f"everything in '{app.loaded.data_dir}' would be replaced", hint="add --yes if that is meant"
        )
    options = RestoreOptions(may_replace=replace, accepts_settings=accept_settings)
    report = restore_backup(app, source, options, tell=lambda text: output.notes([text]))
    if as_json:
        output.data(json_pages.record_json(restore_answer(report)))
        return
    output.notes(
        [f"restored as of {report.made_at}: {report.n_collections:,} collections, {report.n_documents:,} documents"]
    )
    output.notes(restore_notes(report))
    if report.n_read_again:
        how = "dirindex index --collection NAME gives them their vectors, and so does the next server"
        output.notes([f"{report.n_read_again:,} documents were read again; {how}"])
    if not report.has_vectors:
        output.notes(["vectors are on a Qdrant server and were not backed up; dirindex index --yes makes them again"])
