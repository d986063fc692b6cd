"""`dirindex key`: manage the API keys of HTTP clients."""

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from directory_indexer.cli.options import OrdinaryCall
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Group, Option
from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.reports import KeyList, key_facts
    from directory_indexer.app import App
    from directory_indexer.config import load_config
    from directory_indexer.core.rights import Right
    from directory_indexer.storage.registry.keys import Keys
    from directory_indexer.text.reports import key_lines


_Right = Literal["read", "write", "admin", "metrics"]
_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}
_Name = Annotated[str, Argument("Name of the key: whom or what it is for.")]


class NewKeyCall(OrdinaryCall):
    """The command line of `key new`."""

    name: _Name
    right: Annotated[_Right, Option(("--right",), "What it allows; write includes read, admin includes all.")] = "read"
    collections: Annotated[
        tuple[str, ...], Option(("--collection",), "Only this collection; several may be given.", metavar="NAME")
    ] = ()
    expires: Annotated[
        str, Option(("--expires",), "Expire after: 12h, 90d, 2w, 1y.", metavar="90d", shows_default=False)
    ] = ""


def new_key(call: NewKeyCall) -> None:
    """Make a key and show it, this once."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    key, secret = _keys(call.config, call.data_dir, output).add(
        call.name,
        Right(call.right),
        collections=call.collections,
        seconds=_seconds(call.expires) if call.expires else None,
    )
    if call.as_json:
        output.record(key_facts(key, secret=secret))
    else:
        output.data(secret)
    output.notes([f"this is the key '{call.name}'; it is not kept, so that nobody can show it again"])


class ListKeysCall(OrdinaryCall):
    """The command line of `key list`."""


def list_keys(call: ListKeysCall) -> None:
    """List the keys, with what each allows."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    keys = _keys(call.config, call.data_dir, output).all()
    if call.as_json:
        output.record(KeyList(tuple(map(key_facts, keys))))
        return
    output.lines(key_lines(keys))
    output.notes([] if keys else ["there are no keys; dirindex key new NAME makes one"])


class RevokeKeyCall(OrdinaryCall):
    """The command line of `key revoke`."""

    name: _Name


def revoke_key(call: RevokeKeyCall) -> None:
    """Revoke a key: servers refuse it from now on."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    revoked = _keys(call.config, call.data_dir, output).revoke(call.name)
    if call.as_json:
        output.record(key_facts(revoked))
    output.notes([f"the key '{call.name}' is revoked"])


def _keys(config: Path | None, data_dir: Path | None, output: Output) -> "Keys":
    loaded = load_config(file=config, data_dir=data_dir, environ=os.environ)
    output.notes(loaded.warnings)
    return Keys(App(loaded).registry)


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d{1,6})([mhdwy])", text.strip())
    if not match or not int(match[1]):
        raise UsageError(f"invalid time '{text}' for --expires", hint="write --expires 12h, 90d, 2w or 1y")
    return int(match[1]) * float(_UNITS[match[2]])


COMMAND = Group(
    {
        "new": Command(NewKeyCall, new_key),
        "list": Command(ListKeysCall, list_keys),
        "revoke": Command(RevokeKeyCall, revoke_key),
    },
    help="""Make, list and revoke the keys of HTTP clients.""",
)
