"""`dirindex scope`: name sets of directories to search in."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import re
from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.cli.arguments import parse_path
from directory_indexer.cli.opening import open_app
from directory_indexer.cli.options import (
    AsJson,
    ConfigFile,
    DataDir,
    InCollection,
    Quiet,
    new_command_line,
)
from directory_indexer.cli.output import Output
from directory_indexer.config.collections import DEFAULT
from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.api.collections import scopes_answer
    from directory_indexer.collections.collections import Collections
    from directory_indexer.collections.search import collection_scopes
    from directory_indexer.search.coverage_warnings import require_indexed
    from directory_indexer.text import json_pages
    from directory_indexer.text.reports import scope_lines

_NAME = r"[\w][\w .-]{0,63}"

cli = new_command_line()


@cli.command()
def scope(
    *,
    name: Annotated[str, typer.Argument(help="The name; none: all scopes are shown.", show_default=False)] = "",
    paths: Annotated[
        list[Path] | None, typer.Argument(parser=parse_path, help="The directories that it means from now on.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Forget the name; the directories stay indexed.")] = False,
    collection: InCollection = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Name a set of directories for `search --scope NAME`.

    Without a name, list the scopes; without paths, show one.
    """
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    team = Collections(open_app(config, data_dir, output))
    scopes = collection_scopes(team, collection or DEFAULT)
    if remove:
        if paths or not scopes.remove(name):
            raise UsageError(f"there is no scope '{name}'", hint="dirindex scope shows them; --remove takes one name")
    elif paths:
        if not re.fullmatch(_NAME, name):
            raise UsageError(
                f"'{name}' is not a name for a scope", hint="use 1 to 64 letters, digits, spaces and . _ -"
            )
        directories = tuple(map(resolved_path, paths))
        with team.app_of(collection or DEFAULT).docstore.snapshot() as snapshot:
            require_indexed(snapshot, directories)
        scopes.put(name, directories)
    named_scopes = scopes.all()
    if name and not remove:
        if name not in named_scopes:
            raise NotIndexedError(f"there is no scope '{name}'", hint=f"dirindex scope '{name}' PATH makes one")
        named_scopes = {name: named_scopes[name]}
    if as_json:
        output.data(json_pages.record_json(scopes_answer(named_scopes)))
    else:
        output.lines(scope_lines(named_scopes, paths=output.paths))
        output.notes([] if named_scopes else ["there are no scopes; dirindex scope NAME PATH... makes one"])
