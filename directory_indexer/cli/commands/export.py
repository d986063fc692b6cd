"""`dirindex export`: write the index for other programs."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
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
from directory_indexer.core.errors import ExitCode, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import place_path, resolved_path
from directory_indexer.integrations.exporting.formats import (
    EXPORT_FORMATS,
    ExportFormat,
    any_of,
    export_format,
    format_names,
    is_standard_output,
    named_format,
    require_harmless,
)

with lazily:
    from directory_indexer.app import App
    from directory_indexer.cli.signals import StopSwitch
    from directory_indexer.integrations.exporting.exporter import ExportRequest
    from directory_indexer.storage.documents.runs import Outcome
    from directory_indexer.text import json_pages, reports
    from directory_indexer.text.formatting import plain

_TITLES = any_of(row.title for row in EXPORT_FORMATS)
_SUFFIXES = any_of(row.suffixes[0] for row in EXPORT_FORMATS)

cli = new_command_line()


@cli.command(help=f"Write what is indexed as {_TITLES}.")
def export(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            parser=parse_path,
            help=f"File to write: {_SUFFIXES}; - for standard output.",
            metavar="FILE",
        ),
    ],
    paths: Annotated[
        list[Path] | None, typer.Argument(parser=parse_path, help="Directories or files; none: all that is indexed.")
    ] = None,
    named: Annotated[
        ExportFormat | None,
        typer.Option(
            "--format",
            "-f",
            parser=named_format,
            autocompletion=format_names,
            metavar=f"[{'|'.join(format_names())}]",
            help="How to write it, whatever the name of FILE ends with.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Write what is indexed in one of the formats of the table."""
    output = Output(quiet=quiet, verbose=verbose, as_json=as_json)
    request = ExportRequest(
        export_format(os.fspath(file), named), tuple(resolved_path(path) for path in paths or ()), force=force
    )
    if is_standard_output(os.fspath(file)):
        _export_to_output(open_existing_app(config, data_dir, output, collection), output, request)
        return
    app = open_existing_app(config, data_dir, output, collection)
    switch = StopSwitch(max_seconds=None)
    with output.progress() as listener:
        report = app.exporter.to_file(
            place_path(file), request, listener=listener, must_stop=lambda: switch.reason() is not None
        )
    if as_json:
        output.data(json_pages.export_json(report))
    else:
        output.notes([plain(reports.export_lines(report, paths=output.paths)).rstrip()])
    if report.outcome is not Outcome.COMPLETED:
        raise typer.Exit(ExitCode.INTERRUPTED)


def _export_to_output(app: App, output: Output, request: ExportRequest) -> None:
    if output.as_json:
        raise UsageError("standard output is for one of them: the export or --json", hint="name a file to write")
    if output.is_terminal:
        require_harmless(request.format)
    app.exporter.to_stream(output.stream(), request)
