"""`dirindex backup`: copy the data directory."""

from pathlib import Path
from typing import Annotated

from directory_indexer.cli.commands import OrdinaryCall, open_app, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.collections import backup_answer
    from directory_indexer.collections import Collections
    from directory_indexer.collections.backup import back_up
    from directory_indexer.text.formatting import count, size


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


COMMANDS = {"backup": Command(BackupCall, backup)}
