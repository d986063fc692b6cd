"""Every command takes the options that all have in common, after its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from directory_indexer.cli.command_line import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

LACKING = {
    "--config": {"usage"},  # reads transcripts alone
    "--data-dir": {"usage"},
    "--quiet": set[str](),
    "--verbose": set[str](),
    "--json": {"serve", "ui", "documents original", "config init"},  # what they write is something else
}


def commands(group: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Give every command by its full name; a group that does something by itself is one too."""
    below = getattr(group, "commands", None)
    for name in below or ():
        yield from commands(group.get_command(typer.Context(group), name), *names, name)
    if names and (below is None or group.invoke_without_command):
        yield " ".join(names), group


def test_every_command_takes_the_options_that_all_have_in_common() -> None:
    given = {
        name: {option for one in command.params for option in one.opts}
        for name, command in commands(typer.main.get_command(cli))
    }
    assert {"index", "search", "serve", "config", "config init", "key new"} <= given.keys()
    lacking = {option: {name for name, options in given.items() if option not in options} for option in LACKING}
    assert lacking == LACKING
