"""The example configuration file: every key with its default and a description."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from directory_indexer.config.keys import Key, entries_of
from directory_indexer.config.settings import Config
from directory_indexer.errors import UsageError

_INTRODUCTION = """\
// The configuration of dirindex. Every key is shown with its default: take the // away to change one.
// A variable such as DIRINDEX_EMBEDDING__MODEL is stronger than this file. Paths may start with ~/.
"""


def commented_example() -> str:
    """Return the example in which every key is commented out and explained."""
    return "\n".join([_INTRODUCTION + "{", *_section(Config, "  "), "}", ""])


def plain_example(section: type = Config) -> dict[str, object]:
    """Return every key with its default, as plain JSON; `null` if the default depends on something else."""
    return {
        name: entry.default if isinstance(entry, Key) else plain_example(entry) for name, entry in entries_of(section)
    }


def write_example(path: Path) -> None:
    """Write the commented example to a new file that only its owner can read, since it may later hold a key.

    Raises:
        UsageError: the file exists, or cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise UsageError(f"'{path}' exists already", hint="move it away first, or edit it") from error
    except OSError as error:
        raise UsageError(f"'{path}' cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(commented_example())


def _section(section: type, indent: str) -> Iterator[str]:
    for name, entry in entries_of(section):
        if isinstance(entry, Key):
            yield f"{indent}// {entry.words}"
            yield f'{indent}// "{name}": {json.dumps(entry.default)},'
        else:
            yield f"{indent}// {entry.__doc__}"
            yield f'{indent}"{name}": {{'
            yield from _section(entry, indent + "  ")
            yield f"{indent}}},"
