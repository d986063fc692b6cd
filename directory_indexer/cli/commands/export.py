"""`dirindex export`: write the index for other programs."""

import os
from pathlib import Path
from typing import Annotated

from directory_indexer.cli.commands import InCollection, OrdinaryCall, open_existing_app, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.errors import ExitCode, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import path_of_place, resolved_path
from directory_indexer.integrations.exporting import (
    EXPORT_FORMATS,
    ExportFormat,
    alternatives,
    export_format,
    format_names,
    is_standard_output,
    named_format,
    require_printable,
)

with lazily:
    from directory_indexer.api.reports import export_answer
    from directory_indexer.app import App
    from directory_indexer.cli.signals import StopSwitch
    from directory_indexer.integrations.exporting.exporter import ExportRequest
    from directory_indexer.storage.documents.runs import Outcome
    from directory_indexer.text import reports
    from directory_indexer.text.formatting import plain

_TITLES = alternatives(row.title for row in EXPORT_FORMATS)
_SUFFIXES = alternatives(row.suffixes[0] for row in EXPORT_FORMATS)


class ExportCall(OrdinaryCall):
    """The command line of `export`."""

    file: Annotated[
        Path, Argument(f"File to write: {_SUFFIXES}; - for standard output.", parse=parse_path, metavar="FILE")
    ]
    paths: Annotated[
        tuple[Path, ...],
        Argument("Directories or files; default: everything that is indexed.", parse=parse_path, metavar="[PATH]..."),
    ] = ()
    named: Annotated[
        ExportFormat | None,
        Option(
            ("--format", "-f"),
            "Output format, whatever the suffix of FILE.",
            parse=named_format,
            complete=format_names,
            metavar=f"[{'|'.join(format_names())}]",
        ),
    ] = None
    force: Annotated[bool, Option(("--force",), "Replace FILE if it exists.")] = False
    collection: InCollection = ""


def export(call: ExportCall) -> ExitCode:
    """Write what is indexed in one of the formats of the table."""
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    request = ExportRequest(
        export_format(os.fspath(call.file), call.named),
        tuple(resolved_path(path) for path in call.paths),
        force=call.force,
    )
    if is_standard_output(os.fspath(call.file)):
        _export_to_output(open_existing_app(call.config, call.data_dir, output, call.collection), output, request)
        return ExitCode.DONE
    app = open_existing_app(call.config, call.data_dir, output, call.collection)
    switch = StopSwitch(max_seconds=None)
    with output.progress(must_stop=switch.must_stop) as listener:
        report = app.exporter.to_file(path_of_place(call.file), request, listener=listener, must_stop=switch.must_stop)
    if call.as_json:
        output.record(export_answer(report))
    else:
        output.notes([plain(reports.export_lines(report, paths=output.paths)).rstrip()])
    return ExitCode.DONE if report.outcome is Outcome.COMPLETED else ExitCode.INTERRUPTED


def _export_to_output(app: App, output: Output, request: ExportRequest) -> None:
    if output.as_json:
        raise UsageError("standard output cannot hold both the export and --json", hint="name a file to write")
    if output.is_terminal:
        require_printable(request.format)
    app.exporter.to_stream(output.stream(), request)


COMMANDS = {"export": Command(ExportCall, export, help=f"Write what is indexed as {_TITLES}.")}
