"""`dirindex forget`: stop tracking a directory."""

import os
from itertools import chain
from pathlib import Path
from typing import Annotated

from directory_indexer.cli.commands import InCollection, OrdinaryCall, open_existing_app, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.errors import ConsentNeededError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import lies_in, resolved_path

with lazily:
    from directory_indexer.api.reports import ForgetAnswer
    from directory_indexer.app import App
    from directory_indexer.indexing.directory_plans import require_forgettable, resolve_forgettable_path
    from directory_indexer.storage.documents import IndexScope
    from directory_indexer.text.formatting import count, printable


class ForgetCall(OrdinaryCall):
    """The command line of `forget`."""

    path: Annotated[Path, Argument("A tracked directory.", parse=parse_path)]
    yes: Annotated[bool, Option(("--yes", "-y"), "Do not ask for confirmation.")] = False
    collection: InCollection = ""


def forget(call: ForgetCall) -> None:
    """Stop tracking a directory, and remove its index entries.

    The files themselves stay as they are. On a terminal, it asks first.
    """
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    app = open_existing_app(call.config, call.data_dir, output, call.collection)
    if output.can_ask and not call.yes and not output.confirm(_consequence(app, call.path)):
        raise ConsentNeededError("nothing was removed")
    with output.progress() as listener:
        n_files = app.runs.indexer.forget(os.fspath(call.path), listener=listener)
    left_behind = app.docstore.maintenance.residue_warnings()
    log = app.loaded.data_dir / "dirindex.log"
    try:
        log.unlink(missing_ok=True)
    except OSError as error:
        left_behind.append(f"'{log}' cannot be removed, and may name its files: {error.strerror}")
    if call.as_json:
        output.record(ForgetAnswer(resolved_path(call.path), n_files))
    else:
        output.notes([f"{call.path} is no longer tracked; {count(n_files, 'file')} removed from the index"])
    output.notes(left_behind)


def _consequence(app: "App", path: Path) -> str:
    with app.docstore.snapshot() as snapshot:
        root = resolve_forgettable_path(os.fspath(path), snapshot)
        require_forgettable(root, app.policies.walk)
        directories = chain.from_iterable(snapshot.directory_counts.by_root().values())
        removed = [directory for directory in directories if lies_in(directory.path, root)]
        n_pages = snapshot.scans.counts(IndexScope((root,))).n_read
    parts = [
        count(sum(directory.n_files for directory in removed), "file"),
        count(sum(directory.n_chunks for directory in removed), "passage")
        + f" ({sum(directory.n_embedded for directory in removed):,} searchable by meaning)",
        *([f"what OCR has read of {count(n_pages, 'page')}"] if n_pages else []),
    ]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]} of {printable(os.fspath(path))}"
    return f"{listed} will be removed from the index; the files themselves stay"


COMMANDS = {"forget": Command(ForgetCall, forget)}
