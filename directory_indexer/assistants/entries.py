"""One entry in a structured file: its position, whether it exists, and the data with or without it.

A path of keys ends in `-` for an entry that is appended to a list (as in a JSON pointer).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from directory_indexer.errors import UsageError

Keys: TypeAlias = Sequence[str]

IN_LIST: Final = "-"
"""The last key of an entry in a list."""

NOT_SAFE: Final = "it is written in a way that cannot be edited safely"


class EditRefusedError(UsageError):
    """A file is not as expected and stays unchanged; the message does not name the file."""


def checked(changed: str, expected: object, *, tree_of: Callable[[str], object]) -> str:
    """Return an edited text if it parses to the expected data.

    Raises:
        EditRefusedError: it does not.
    """
    try:
        is_right = tree_of(changed) == expected
    except EditRefusedError:
        is_right = False
    if not is_right:
        raise EditRefusedError(NOT_SAFE)
    return changed


class Standing(Enum):
    """Whether an entry is in a file."""

    ABSENT = auto()
    SAME = auto()
    OTHER = auto()
    """Another entry is in its place."""


def standing_in(tree: object, keys: Keys, value: object) -> Standing:
    """Return whether parsed data contains an entry.

    Raises:
        EditRefusedError: something on the way to it is neither an object nor a list.
    """
    container = _container(tree, keys)
    if container is None:
        return Standing.ABSENT
    if keys[-1] == IN_LIST:
        return Standing.SAME if value in container else Standing.ABSENT
    if keys[-1] not in container:
        return Standing.ABSENT
    return Standing.SAME if container[keys[-1]] == value else Standing.OTHER


def tree_with(tree: object, keys: Keys, value: object) -> Any:
    """Return a copy of the data with the entry."""
    changed: Any = copy.deepcopy(tree)
    container = changed
    for key, following in itertools.pairwise(keys):
        container = container.setdefault(key, [] if following == IN_LIST else {})
    if keys[-1] == IN_LIST:
        container.insert(0, value)
    else:
        container[keys[-1]] = value
    return changed


def tree_without(tree: object, keys: Keys, value: object, *, made: int) -> Any:
    """Return a copy of the data without the entry, and without up to `made` containers around it that are then empty.

    Raises:
        EditRefusedError: something on the way to it is neither an object nor a list.
    """
    changed: Any = copy.deepcopy(tree)
    container = _container(changed, keys)
    if container is not None and keys[-1] == IN_LIST:
        container.remove(value)
    elif container is not None:
        del container[keys[-1]]
    for n_inner in range(1, made + 1):
        inner = keys[:-n_inner]
        if not _at(changed, inner):
            del _at(changed, inner[:-1])[inner[-1]]
    return changed


def missing_containers(tree: Any, keys: Keys) -> int:
    """Return the number of containers around an entry that have to be created."""
    container = tree
    for depth, key in enumerate(keys[:-1]):
        if key not in container:
            return len(keys) - 1 - depth
        container = container[key]
    return 0


def _container(tree: Any, keys: Keys) -> Any:
    reached = tree
    for key, following in zip(("", *keys[:-1]), keys, strict=True):
        if key:
            if key not in reached:
                return None
            reached = reached[key]
        if not isinstance(reached, list if following == IN_LIST else dict):
            name = f"'{key}'" if key else "the file"
            raise EditRefusedError(f"{name} is not {'a list' if following == IN_LIST else 'an object'}")
    return reached


def _at(tree: Any, keys: Keys) -> Any:
    for key in keys:
        tree = tree[key]
    return tree
