"""Integration into assistants: entries in their configuration files, and their removal.

Here is one entry in a structured file: its position, whether it exists, and the text with or without it. A path of keys
ends in `-` for an entry that is appended to a list (as in a JSON pointer). An edit of a text is made only if the result
parses to the previous data, with or without the entry.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple, TypeAlias

from directory_indexer.core.errors import UsageError

Keys: TypeAlias = Sequence[str]

IN_LIST: Final = "-"
"""The last key of an entry in a list."""

UNSAFE_EDIT: Final = "it is written in a way that cannot be edited safely"

Insert: TypeAlias = Callable[[str, Keys, object], str]
"""Inserts an entry into a text that does not have it."""


class EditRefusedError(UsageError):
    """A file is not as expected and stays unchanged; the message does not name the file."""


def verified(changed: str, expected: object, *, tree_of: Callable[[str], object]) -> str:
    """Return an edited text if it parses to the expected data.

    Raises:
        EditRefusedError: it does not.
    """
    try:
        is_right = tree_of(changed) == expected
    except EditRefusedError:
        is_right = False
    if not is_right:
        raise EditRefusedError(UNSAFE_EDIT)
    return changed


class EntryState(Enum):
    """Whether an entry is in a file."""

    ABSENT = auto()
    SAME = auto()
    OTHER = auto()
    """Another entry is in its place."""


def state_in(tree: object, keys: Keys, value: object) -> EntryState:
    """Return whether parsed data contains an entry.

    Raises:
        EditRefusedError: a parent of it is neither an object nor a list.
    """
    container = _container(tree, keys)
    if container is None:
        return EntryState.ABSENT
    if keys[-1] == IN_LIST:
        return EntryState.SAME if value in container else EntryState.ABSENT
    if keys[-1] not in container:
        return EntryState.ABSENT
    return EntryState.SAME if container[keys[-1]] == value else EntryState.OTHER


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
        EditRefusedError: a parent of it is neither an object nor a list.
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


class RemovedEntry(NamedTuple):
    """An entry to remove from a text, with up to `made` empty containers around it, and the expected remaining tree."""

    keys: Keys
    value: object
    made: int
    left: Any


class StructuredFormat:
    """A format, defined by a parser and by functions that insert and remove an entry.

    `prepare` makes room for an entry in a tree, `normalise` returns a value as the parser would read it. A text with no
    keys other than `initial_keys` counts as empty.
    """

    def __init__(
        self,
        tree_of: Callable[[str], Any],
        *,
        insert: Insert,
        cut: Callable[[str, RemovedEntry], str],
        prepare: Callable[[Any, Keys], Any] = lambda tree, _: tree,
        normalise: Callable[[object], object] = lambda value: value,
        initial_keys: frozenset[str] | None = None,
    ) -> None:
        self._tree_of = tree_of
        self._insert = insert
        self._cut = cut
        self._prepare = prepare
        self._normalise = normalise
        self._initial_keys = initial_keys

    def parsed(self, text: str) -> Any:
        """Return the parsed content of a text."""
        return self._tree_of(text)

    def is_empty(self, text: str) -> bool:
        """Whether a text has no content worth keeping."""
        if self._initial_keys is None:
            return not text.strip()
        return set(self._tree_of(text)) <= self._initial_keys

    def state(self, text: str, keys: Keys, value: object) -> EntryState:
        """Return whether an entry is in a text."""
        return state_in(self._prepare(self._tree_of(text), keys), keys, self._normalise(value))

    def with_entry(self, text: str, keys: Keys, value: object) -> str:
        """Insert an entry into a text that does not have it.

        Raises:
            EditRefusedError: the text cannot be read, or has no place for it.
        """
        tree = self._prepare(self._tree_of(text), keys)
        state_in(tree, keys, self._normalise(value))
        expected = tree_with(tree, keys, self._normalise(value))
        return verified(self._insert(text, keys, value), expected, tree_of=self._tree_of)

    def without_entry(self, text: str, keys: Keys, value: object, *, made: int) -> str:
        """Remove an entry from a text, and up to `made` of the containers around it if they are empty.

        Raises:
            EditRefusedError: the text cannot be read.
        """
        left = tree_without(self._tree_of(text), keys, self._normalise(value), made=made)
        return verified(self._cut(text, RemovedEntry(keys, value, made, left)), left, tree_of=self._tree_of)


def line_end_of(text: str) -> str:
    """Return the line end of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def gap_after(text: str) -> str:
    """Return the separator that makes a blank line between a text and an appendix."""
    line_end = line_end_of(text)
    if not text or text.endswith(line_end * 2):
        return ""
    return line_end if text.endswith("\n") else line_end * 2


def _container(tree: Any, keys: Keys) -> Any:
    container = tree
    for key, following in zip(("", *keys[:-1]), keys, strict=True):
        if key:
            if key not in container:
                return None
            container = container[key]
        if not isinstance(container, list if following == IN_LIST else dict):
            name = f"'{key}'" if key else "the file"
            raise EditRefusedError(f"{name} is not {'a list' if following == IN_LIST else 'an object'}")
    return container


def _at(tree: Any, keys: Keys) -> Any:
    for key in keys:
        tree = tree[key]
    return tree
