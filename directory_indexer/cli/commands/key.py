"""`dirindex key`: manage the API keys of HTTP clients."""

# ruff: noqa: PLR0913 - each option of a command is a parameter of its function

import os
import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from directory_indexer.cli.options import AsJson, ConfigFile, DataDir, Quiet, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.app import App
    from directory_indexer.config import load_config
    from directory_indexer.storage.registry.keys import Keys, Right
    from directory_indexer.text import json_pages
    from directory_indexer.text.reports import key_lines

cli = new_command_line()

_Right = Literal["read", "write", "admin", "metrics"]
_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}
_Name = Annotated[str, typer.Argument(help="What the key is called: whom or what it is for.")]


@cli.callback(no_args_is_help=True)
def key() -> None:
    """Make, list and revoke the keys of HTTP clients."""


@cli.command("new")
def new_key(
    *,
    name: _Name,
    right: Annotated[
        _Right, typer.Option("--right", help="What it allows; write has read in it, and admin all.")
    ] = "read",
    collections: Annotated[
        list[str] | None,
        typer.Option("--collection", metavar="NAME", help="Only this collection; several may be given."),
    ] = None,
    expires: Annotated[
        str, typer.Option("--expires", metavar="90d", help="Until when: after 12h, 90d, 2w, 1y.", show_default=False)
    ] = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make a key and show it, this once."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    made, secret = _keys(config, data_dir, output).add(
        name, Right(right), collections=collections or (), seconds=_seconds(expires) if expires else None
    )
    output.data(json_pages.key_json(made, secret=secret) if as_json else secret)
    output.notes([f"this is the key '{name}'; it is not kept, so that nobody can show it again"])


@cli.command("list")
def list_keys(
    *, config: ConfigFile = None, data_dir: DataDir = None, quiet: Quiet = False, as_json: AsJson = False
) -> None:
    """List the keys, with what each allows."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    keys = _keys(config, data_dir, output).all()
    if as_json:
        output.data(json_pages.keys_json(keys))
        return
    output.lines(key_lines(keys))
    output.notes([] if keys else ["there are no keys; dirindex key new NAME makes one"])


@cli.command("revoke")
def revoke_key(
    *,
    name: _Name,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Revoke a key: servers refuse it from now on."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    revoked = _keys(config, data_dir, output).revoke(name)
    if as_json:
        output.data(json_pages.key_json(revoked))
    output.notes([f"the key '{name}' is revoked"])


def _keys(config: Path | None, data_dir: Path | None, output: Output) -> "Keys":
    loaded = load_config(file=config, data_dir=data_dir, environ=os.environ)
    output.notes(loaded.warnings)
    return Keys(App(loaded).registry)


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d{1,6})([mhdwy])", text.strip())
    if not match or not int(match[1]):
        raise UsageError(f"invalid time '{text}' for --expires", hint="write --expires 12h, 90d, 2w or 1y")
    return int(match[1]) * float(_UNITS[match[2]])
