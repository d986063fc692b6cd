"""`dirindex status`: show the state of the index."""

import time
from pathlib import Path
from typing import Annotated

from directory_indexer.cli.commands import InCollection, NoServer, OrdinaryCall, open_existing_app, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.text import index_reports, json_pages


class StatusCall(OrdinaryCall):
    """The command line of `status`."""

    path: Annotated[Path | None, Argument("Only the tracked directory that contains PATH.", parse=parse_path)] = None
    collection: InCollection = ""
    no_server: NoServer = False


def status(call: StatusCall) -> None:
    """Show what is indexed, and what was left out and why."""
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    app = open_existing_app(call.config, call.data_dir, output, call.collection)
    report = app.status.report(resolved_path(call.path) if call.path else None)
    if call.as_json:
        output.data(json_pages.status_json(report, verbose=call.verbose))
    else:
        output.lines(index_reports.status_lines(report, now=time.time(), paths=output.paths, verbose=call.verbose))


COMMANDS = {"status": Command(StatusCall, status)}
