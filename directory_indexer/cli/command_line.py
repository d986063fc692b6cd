"""The command line as a whole: which commands there are.

A command is imported when its name is asked for: only `--help` and completion look at all of them.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from directory_indexer import __version__
from directory_indexer.cli.output import Output
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.cli.commands import (
        add,
        backup,
        collection,
        config,
        convert,
        doctor,
        documents,
        export,
        forget,
        get,
        grep,
        index,
        install,
        key,
        migrate,
        outline,
        restore,
        scope,
        search,
        serve,
        similar,
        status,
        ui,
        usage,
    )

_COMMANDS: Mapping[str, Any] = {
    "index": index,
    "search": search,
    "grep": grep,
    "similar": similar,
    "get": get,
    "outline": outline,
    "status": status,
    "convert": convert,
    "export": export,
    "scope": scope,
    "collection": collection,
    "add": add,
    "documents": documents,
    "backup": backup,
    "restore": restore,
    "forget": forget,
    "migrate": migrate,
    "doctor": doctor,
    "serve": serve,
    "install": install,
    "usage": usage,
    "ui": ui,
    "key": key,
    "config": config,
}


def is_command(name: str) -> bool:
    """Tell whether there is a command of this name."""
    return name in _COMMANDS


class _Commands(Mapping[str, Any]):
    """What Typer makes of each command, made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        command = typer.main.get_command(_COMMANDS[name].cli)
        command.name = name
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _CommandLine(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("dict[str, Any]", _Commands())  # Typer only reads it


cli = typer.Typer(
    cls=_CommandLine,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(*, version: bool) -> None:
    if version:
        Output(quiet=False, verbose=False, as_json=False).data(f"dirindex {__version__}")
        raise typer.Exit


@cli.callback()
def dirindex(
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    """Find passages in your own directories by meaning and by words."""
