"""The command line as a whole: the commands and their groups.

A command is imported when its name is looked up; only `--help` and completion load all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from directory_indexer import __version__
from directory_indexer.cli.output import Output
from directory_indexer.core.lazy import lazily

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
        locate,
        migrate,
        outline,
        restore,
        scope,
        search,
        serve,
        similar,
        status,
        symbol,
        ui,
        usage,
    )

_GROUPS: Mapping[str, Mapping[str, Any]] = {
    "Find and read": {
        "index": index,
        "search": search,
        "grep": grep,
        "similar": similar,
        "get": get,
        "outline": outline,
        "symbol": symbol,
        "locate": locate,
        "ui": ui,
    },
    "Keep the index": {
        "status": status,
        "forget": forget,
        "config": config,
        "doctor": doctor,
        "backup": backup,
        "restore": restore,
        "migrate": migrate,
    },
    "Assistants and other programs": {
        "install": install,
        "serve": serve,
        "usage": usage,
        "convert": convert,
        "export": export,
    },
    "Teams": {
        "collection": collection,
        "add": add,
        "documents": documents,
        "scope": scope,
        "key": key,
    },
}
"""Groups of commands in the order of `--help`, the most used commands first."""

_COMMANDS: Mapping[str, Any] = {name: module for group in _GROUPS.values() for name, module in group.items()}
_ALIASES: Mapping[str, str] = {"ls": "status", "rm": "forget", "remove": "forget"}
_HELP = "help"
_FIRST_STEPS = (
    ("dirindex index ~/Documents", "Index a directory; search it seconds later."),
    ('dirindex search "a question"', "Find passages by meaning and by words."),
    ("dirindex help search", "Show the arguments and options of a command."),
)


def is_command(name: str) -> bool:
    """Whether there is a command of this name."""
    return name in _COMMANDS or name in _ALIASES


def run_command(arguments: Sequence[str]) -> int:
    """Run a command for another process, which shows help and explains mistakes itself; return the exit code.

    Raises:
        Exception: it did not end by itself.
    """
    name, *rest = arguments
    command = typer.main.get_command(_COMMANDS[name].cli)
    return int(command.main(rest, prog_name=f"dirindex {name}", standalone_mode=False, help_option_names=[]) or 0)


class _Commands(Mapping[str, Any]):
    """Typer's command objects, each created on first access."""

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

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command for the first word, which may be an alias; `help COMMAND` stands for `COMMAND --help`."""
        if args[0] == _HELP:
            args = [*args[1:], "--help"]
        if args == ["--help"]:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().resolve_command(ctx, [_ALIASES.get(args[0], args[0]), *args[1:]])

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description of the program, then the first steps."""
        super().format_help_text(ctx, formatter)
        with formatter.section("First steps"):
            formatter.write_dl(_FIRST_STEPS)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write the commands by group, each with its alias."""
        aliases = {name: alias for alias, name in reversed(list(_ALIASES.items()))}
        for title, commands in _GROUPS.items():
            labels = {name: ", ".join(filter(None, (name, aliases.get(name)))) for name in commands}
            width = formatter.width - max(map(len, labels.values())) - len("    ")  # before and behind the names
            with formatter.section(title):
                formatter.write_dl(
                    [(label, self.commands[name].get_short_help_str(width)) for name, label in labels.items()]
                )


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
