"""`dirindex scope`: name sets of directories to search in."""

import re
from pathlib import Path
from typing import Annotated

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.options import InCollection, OrdinaryCall, open_app
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.config.collections import DEFAULT
from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.api.collections import scopes_answer
    from directory_indexer.collections.collections import Collections
    from directory_indexer.collections.search import scopes_of_collection
    from directory_indexer.search.coverage_warnings import require_indexed
    from directory_indexer.text.reports import scope_lines

_NAME = r"[\w][\w .-]{0,63}"


class ScopeCall(OrdinaryCall):
    """The command line of `scope`."""

    name: Annotated[str, Argument("The name; default: show all scopes.", shows_default=False)] = ""
    paths: Annotated[
        tuple[Path, ...], Argument("The directories of the scope.", parse=parse_path, metavar="[PATH]...")
    ] = ()
    remove: Annotated[bool, Option(("--remove",), "Forget the name; the directories stay indexed.")] = False
    collection: InCollection = ""


def scope(call: ScopeCall) -> None:
    """Name a set of directories for `search --scope NAME`.

    Without a name, list the scopes; without paths, show one.
    """
    output = Output(quiet=call.quiet, as_json=call.as_json)
    collections = Collections(open_app(call.config, call.data_dir, output))
    scopes = scopes_of_collection(collections, call.collection or DEFAULT)
    if call.remove:
        if call.paths or not scopes.remove(call.name):
            raise UsageError(
                f"there is no scope '{call.name}'", hint="dirindex scope shows them; --remove takes one name"
            )
    elif call.paths:
        if not re.fullmatch(_NAME, call.name):
            raise UsageError(
                f"'{call.name}' is not a valid name for a scope", hint="use 1 to 64 letters, digits, spaces and . _ -"
            )
        directories = tuple(map(resolved_path, call.paths))
        with collections.app_of(call.collection or DEFAULT).docstore.snapshot() as snapshot:
            require_indexed(snapshot, directories)
        scopes.put(call.name, directories)
    named_scopes = scopes.all()
    if call.name and not call.remove:
        if call.name not in named_scopes:
            raise NotIndexedError(
                f"there is no scope '{call.name}'", hint=f"dirindex scope '{call.name}' PATH makes one"
            )
        named_scopes = {call.name: named_scopes[call.name]}
    if call.as_json:
        output.record(scopes_answer(named_scopes))
    else:
        output.lines(scope_lines(named_scopes, paths=output.paths))
        output.notes([] if named_scopes else ["there are no scopes; dirindex scope NAME PATH... makes one"])


COMMAND = Command(ScopeCall, scope)
