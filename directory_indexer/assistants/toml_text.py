"""Entries in TOML: appended as a table, and removed by tomlkit, which keeps the rest as it was written."""

from __future__ import annotations

import tomllib
from typing import Any, Final

from directory_indexer.assistants.entries import NOT_SAFE, EditRefusedError, Keys
from directory_indexer.assistants.line_ends import gap_after, line_end_of
from directory_indexer.assistants.structured import Cut, Structured
from directory_indexer.lazy import lazily

with lazily:
    import tomlkit


def tree_of(text: str) -> Any:
    """Parse a text.

    Raises:
        EditRefusedError: it is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EditRefusedError(str(error)) from None
    except RecursionError:
        raise EditRefusedError("it is nested too deep") from None


def _with(text: str, keys: Keys, value: object) -> str:
    return text + gap_after(text) + _table(keys, value).replace("\n", line_end_of(text))


def _without(text: str, cut: Cut) -> str:
    try:
        document: Any = tomlkit.parse(text)
        container = document
        for key in cut.keys[:-1]:
            container = container[key]
        del container[cut.keys[-1]]
        if len(cut.keys) > 1 and cut.keys[0] not in cut.left and cut.keys[0] in document:
            del document[cut.keys[0]]
        return str(tomlkit.dumps(document))
    except (KeyError, ValueError, TypeError, RecursionError):
        raise EditRefusedError(NOT_SAFE) from None


def _table(keys: Keys, value: object) -> str:
    members: Any = value
    table = tomlkit.table()
    for name, member in members.items():
        if isinstance(member, dict):
            inner = tomlkit.inline_table()
            inner.update(member)
            table.add(name, inner)
        else:
            table.add(name, member)
    return f"[{'.'.join(keys)}]\n{table.as_string()}"


TOML: Final = Structured(tree_of, insert=_with, cut=_without)
