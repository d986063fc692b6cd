"""`dirindex backup` and `restore`: copy the data directory, and restore a copy."""

from pathlib import Path
from typing import Annotated

from directory_indexer.cli.commands import OrdinaryCall, open_app, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.errors import ConsentNeededError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.collections import backup_answer, restore_answer
    from directory_indexer.collections import Collections
    from directory_indexer.collections.backup import back_up
    from directory_indexer.collections.restore import RestoreOptions
    from directory_indexer.collections.restore import restore as restore_backup
    from directory_indexer.text.formatting import count, size
    from directory_indexer.text.reports import restore_notes


class BackupCall(OrdinaryCall):
    """The command line of `backup`."""

    target: Annotated[Path, Argument("A new or empty directory.", parse=parse_path, metavar="TARGET")]


def backup(call: BackupCall) -> None:
    """Copy the data directory while it is in use.

    The copy holds indexes, collections, documents and keys.
    """
    output = Output(quiet=call.quiet, as_json=call.as_json)
    app = open_app(call.config, call.data_dir, output)
    report = back_up(app, Collections(app), call.target, report_progress=lambda text: output.notes([text]))
    if call.as_json:
        output.record(backup_answer(report))
        return
    indexed, sent = count(report.n_indexed, "indexed file"), count(report.n_documents, "document")
    holds = f"{count(report.n_collections, 'collection')} with {indexed} and {sent} that were sent"
    output.notes([f"{report.place} holds {holds}; it takes {size(report.n_bytes)}"])
    if not report.has_vectors:
        output.notes(["the Qdrant server is not in it: restored texts are made searchable by meaning again"])


class RestoreCall(OrdinaryCall):
    """The command line of `restore`."""

    source: Annotated[Path, Argument("A directory that dirindex backup wrote.", parse=parse_path, metavar="SOURCE")]
    replace: Annotated[bool, Option(("--replace",), "Replace the existing data, which is lost.")] = False
    accept_settings: Annotated[
        bool | None,
        Option(
            ("--accept-settings/--leave-settings",),
            "Restore keys and settings that run commands or name addresses, or only everything else.",
            shows_default=False,
        ),
    ] = None
    yes: Annotated[bool, Option(("--yes", "-y"), "Do not ask.")] = False


def restore(call: RestoreCall) -> None:
    """Restore a backup into an empty data directory.

    With --replace, the backup replaces what the data directory holds.
    """
    output = Output(quiet=call.quiet, as_json=call.as_json)
    app = open_app(call.config, call.data_dir, output)
    consequence = f"everything in '{app.loaded.data_dir}' will be replaced by the backup"
    if call.replace and not call.yes and not output.confirm(consequence):
        raise ConsentNeededError(
            f"everything in '{app.loaded.data_dir}' would be replaced", hint="add --yes to replace it"
        )
    options = RestoreOptions(may_replace=call.replace, accepts_settings=call.accept_settings)
    report = restore_backup(app, call.source, options, report_progress=lambda text: output.notes([text]))
    if call.as_json:
        output.record(restore_answer(report))
        return
    output.notes(
        [f"restored as of {report.made_at}: {report.n_collections:,} collections, {report.n_documents:,} documents"]
    )
    output.notes(restore_notes(report))
    if report.n_read_again:
        how = "dirindex index --collection NAME makes them searchable by meaning, and so does the next server"
        output.notes([f"{report.n_read_again:,} documents were read again; {how}"])
    if not report.has_vectors:
        output.notes(
            ["the Qdrant server was not backed up; dirindex index --yes makes everything searchable by meaning again"]
        )


COMMANDS = {"backup": Command(BackupCall, backup), "restore": Command(RestoreCall, restore)}
