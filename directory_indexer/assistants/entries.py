"""One entry in a file that holds others: where it is to be, whether it is there, and what the file says without it.

A path of keys ends in `-` where the entry is one of a list, which it joins (as in a JSON pointer).
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
"""The last key of an entry that is one of a list."""

NOT_SAFE: Final = "it is written in a way that cannot be edited safely"


class EditRefusedError(UsageError):
    """A file is not what it should be, so nothing in it is changed; the message does not name the file."""


def checked(changed: str, expected: object, *, tree_of: Callable[[str], object]) -> str:
    """Return an edited text if a parser reads from it what it should.

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
    """Another one is in its place."""


def standing_in(tree: object, keys: Keys, value: object) -> Standing:
    """Return whether parsed data holds an entry.

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
    """Return data as it is to be when the entry is in it."""
    changed: Any = copy.deepcopy(tree)
    reached = changed
    for key, following in itertools.pairwise(keys):
        reached = reached.setdefault(key, [] if following == IN_LIST else {})
    if keys[-1] == IN_LIST:
        reached.insert(0, value)
    else:
        reached[keys[-1]] = value
    return changed


def tree_without(tree: object, keys: Keys, value: object, *, made: int) -> Any:
    """Return data as it is to be when the entry is gone, and with it up to `made` of the containers around it if empty.

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
    """Count the containers around an entry that have to be made for it."""
    reached = tree
    for n_found, key in enumerate(keys[:-1]):
        if key not in reached:
            return len(keys) - 1 - n_found
        reached = reached[key]
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
