"""`dirindex migrate`: copy the vectors to a Qdrant server or back."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

from typing import Annotated

import typer

from directory_indexer.cli.opening import open_existing_app
from directory_indexer.cli.options import AsJson, ConfigFile, DataDir, Quiet, Verbose, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import ExitCode, UsageError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.cli.signals import StopSwitch
    from directory_indexer.storage.documents.runs import Outcome
    from directory_indexer.text import json_pages, reports
    from directory_indexer.text.formatting import plain

cli = new_command_line()


@cli.command()
def migrate(
    *,
    to_server: Annotated[
        str | None, typer.Option("--to-server", metavar="URL", help="Copy them to the Qdrant server at URL.")
    ] = None,
    to_embedded: Annotated[
        bool, typer.Option("--to-embedded", help="Copy them from the configured server back to this machine.")
    ] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Copy the vectors to a Qdrant server or back.

    Nothing is embedded again, and a copy that was interrupted continues when the command is run again. Until the
    configuration names the new place, the index answers from the old one.
    """
    if bool(to_server) == to_embedded:
        raise UsageError("say where to: --to-server URL or --to-embedded")
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    app = open_existing_app(config, data_dir, output)
    switch = StopSwitch(max_seconds=None)
    with output.progress() as listener:
        report = app.migration(to_server=to_server).run(listener=listener, stop_reason=switch.reason)
    if as_json:
        output.data(json_pages.migration_json(report, endpoint=to_server))
    else:
        output.notes([plain(reports.migration_lines(report)).rstrip()])
    if report.outcome is not Outcome.COMPLETED:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if not as_json:
        output.notes(["put this into the configuration, and the index answers from there:"])
        output.data(json_pages.endpoint_json(to_server))
