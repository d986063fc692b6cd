"""Entries in TOML: put in as a table at the end, and taken out by tomlkit, which leaves all else as it was written."""

from __future__ import annotations

import tomllib
from typing import Any

from directory_indexer.assistants.entries import (
    NOT_SAFE,
    EditRefusedError,
    Keys,
    Standing,
    checked,
    missing_containers,
    standing_in,
    tree_with,
    tree_without,
)
from directory_indexer.assistants.line_ends import gap_after, line_end_of
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


def standing(text: str, keys: Keys, value: object) -> Standing:
    """Tell whether an entry is in a text."""
    return standing_in(tree_of(text), keys, value)


def made_for(text: str, keys: Keys) -> int:
    """Count the containers around an entry that would have to be made for it."""
    return missing_containers(tree_of(text), keys)


def is_empty(text: str) -> bool:
    """Tell whether a text holds nothing, or blanks alone."""
    return not text.strip()


def says_same(one: str, other: str) -> bool:
    """Tell whether two texts say the same, however they are laid out."""
    return bool(tree_of(one) == tree_of(other))


def with_entry(text: str, keys: Keys, value: object) -> str:
    """Put a table into a text that does not have it.

    Raises:
        EditRefusedError: the text cannot be read, or has no place for it.
    """
    tree = tree_of(text)
    standing_in(tree, keys, value)
    changed = text + gap_after(text) + _table(keys, value).replace("\n", line_end_of(text))
    return checked(changed, tree_with(tree, keys, value), tree_of=tree_of)


def without_entry(text: str, keys: Keys, value: object, *, made: int) -> str:
    """Take a table out of a text that has it, and with it up to `made` of the tables around it if they are empty.

    Raises:
        EditRefusedError: the text cannot be read.
    """
    expected = tree_without(tree_of(text), keys, value, made=made)
    try:
        document: Any = tomlkit.parse(text)
        container = document
        for key in keys[:-1]:
            container = container[key]
        del container[keys[-1]]
        if len(keys) > 1 and keys[0] not in expected and keys[0] in document:
            del document[keys[0]]
        changed = str(tomlkit.dumps(document))
    except (KeyError, ValueError, TypeError, RecursionError):
        raise EditRefusedError(NOT_SAFE) from None
    return checked(changed, expected, tree_of=tree_of)


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
