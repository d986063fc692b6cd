"""`dirindex migrate`: move search by meaning to a Qdrant server or back."""

from typing import Annotated

from directory_indexer.cli.commands import OrdinaryCall, open_existing_app
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Command, Option
from directory_indexer.core.errors import ExitCode, UsageError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.reports import migration_answer
    from directory_indexer.cli.signals import StopSwitch
    from directory_indexer.storage.documents.runs import Outcome
    from directory_indexer.text import json_pages, reports
    from directory_indexer.text.formatting import plain


class MigrateCall(OrdinaryCall):
    """The command line of `migrate`."""

    to_server: Annotated[
        str | None, Option(("--to-server",), "Copy it to the Qdrant server at URL.", metavar="URL")
    ] = None
    to_embedded: Annotated[
        bool, Option(("--to-embedded",), "Copy it from the configured server back to this machine.")
    ] = False


def migrate(call: MigrateCall) -> ExitCode:
    """Move search by meaning to a Qdrant server or back.

    Nothing is computed again, and a copy that was interrupted continues when the command is run again. Until the
    configuration names the new place, the index answers from the old one.
    """
    if bool(call.to_server) == call.to_embedded:
        raise UsageError("no target: give --to-server URL or --to-embedded")
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    app = open_existing_app(call.config, call.data_dir, output)
    switch = StopSwitch(max_seconds=None)
    with output.progress(must_stop=switch.must_stop) as listener:
        report = app.vectors.migration(to_server=call.to_server).run(listener=listener, stop_reason=switch.reason)
    if call.as_json:
        output.record(migration_answer(report, endpoint=call.to_server))
    else:
        output.notes([plain(reports.migration_lines(report)).rstrip()])
    if report.outcome is not Outcome.COMPLETED:
        return ExitCode.INTERRUPTED
    if not call.as_json:
        output.notes(["put this into the configuration, and the index answers from there:"])
        output.data(json_pages.endpoint_json(call.to_server))
    return ExitCode.DONE


COMMANDS = {"migrate": Command(MigrateCall, migrate)}
