"""The table of commands: each is imported when its name is looked up; only `--help` and completion load all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from directory_indexer import __version__
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Command, Group, parse_call
from directory_indexer.command_client import COMPLETES
from directory_indexer.core.errors import ExitCode
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.cli.commands import (
        add,
        backup,
        config,
        convert,
        doctor,
        documents,
        export,
        forget,
        grep,
        index,
        install,
        migrate,
        reading,
        search,
        serve,
        status,
        symbols,
        teams,
        usage,
    )

GROUPS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Find and read": {
        "index": index,
        "search": search,
        "grep": grep,
        "similar": search,
        "get": reading,
        "outline": reading,
        "symbol": symbols,
        "locate": symbols,
        "ui": serve,
    },
    "Keep the index": {
        "status": status,
        "forget": forget,
        "config": config,
        "doctor": doctor,
        "backup": backup,
        "restore": backup,
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
        "collection": teams,
        "add": add,
        "documents": documents,
        "scope": teams,
        "key": teams,
    },
}
"""Groups of commands in the order of `--help`, the most used commands first."""

COMMANDS: Final[Mapping[str, Any]] = {name: module for group in GROUPS.values() for name, module in group.items()}
ALIASES: Final[Mapping[str, str]] = {"ls": "status", "rm": "forget", "remove": "forget"}


def command_named(name: str) -> Command | Group:
    """Return the command or group of this name; it must be in the table."""
    command: Command | Group = COMMANDS[name].COMMANDS[name]
    return command


def is_command(name: str) -> bool:
    """Whether there is a command of this name."""
    return name in COMMANDS or name in ALIASES


def show_version() -> int:
    """Print the version."""
    Output().data(f"dirindex {__version__}")
    return ExitCode.DONE


def parsed_command(words: Sequence[str]) -> Callable[[], int | None] | None:
    """Return what runs a command line; None if Typer has to parse it.

    Raises:
        UsageError: a value is refused.
    """
    if not words or COMPLETES in os.environ:
        return None
    if words[0] in {"--version", "-V"}:
        return show_version
    name, *rest = words
    name = ALIASES.get(name, name)
    if name not in COMMANDS:
        return None
    command: Command | Group | None = command_named(name)
    if isinstance(command, Group):
        command, rest = (
            (command.commands[rest[0]], rest[1:]) if rest and rest[0] in command.commands else (command.default, rest)
        )
    call = parse_call(command.call, rest) if command else None
    return partial(command.run, call) if command and call is not None else None
