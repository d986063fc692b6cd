"""Entries in texts that parse to a tree: common code for JSON, TOML and YAML.

An edit is made only if the result parses to the previous data, with or without the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from directory_indexer.assistants.entries import Keys, Standing, checked, standing_in, tree_with, tree_without


class Cut(NamedTuple):
    """An entry to remove from a text, with up to `made` empty containers around it, and the expected remaining tree."""

    keys: Keys
    value: object
    made: int
    left: Any


Insert: TypeAlias = Callable[[str, Keys, object], str]
"""Inserts an entry into a text that does not have it."""


class Structured:
    """A format, defined by a parser and by functions that insert and remove an entry.

    `opened` makes room for an entry in a tree, `written` returns a value as the parser would read it. A text with no
    keys other than `of_new_files` counts as empty.
    """

    def __init__(
        self,
        tree_of: Callable[[str], Any],
        *,
        insert: Insert,
        cut: Callable[[str, Cut], str],
        opened: Callable[[Any, Keys], Any] = lambda tree, _: tree,
        written: Callable[[object], object] = lambda value: value,
        of_new_files: frozenset[str] | None = None,
    ) -> None:
        self._tree_of = tree_of
        self._insert = insert
        self._cut = cut
        self._opened = opened
        self._written = written
        self._of_new_files = of_new_files

    def reads_as(self, text: str) -> Any:
        """Return the parsed content of a text, independent of its layout."""
        return self._tree_of(text)

    def is_empty(self, text: str) -> bool:
        """Whether a text has no content worth keeping."""
        if self._of_new_files is None:
            return not text.strip()
        return set(self._tree_of(text)) <= self._of_new_files

    def standing(self, text: str, keys: Keys, value: object) -> Standing:
        """Return whether an entry is in a text."""
        return standing_in(self._opened(self._tree_of(text), keys), keys, self._written(value))

    def with_entry(self, text: str, keys: Keys, value: object) -> str:
        """Insert an entry into a text that does not have it.

        Raises:
            EditRefusedError: the text cannot be read, or has no place for it.
        """
        tree = self._opened(self._tree_of(text), keys)
        standing_in(tree, keys, self._written(value))
        expected = tree_with(tree, keys, self._written(value))
        return checked(self._insert(text, keys, value), expected, tree_of=self._tree_of)

    def without_entry(self, text: str, keys: Keys, value: object, *, made: int) -> str:
        """Remove an entry from a text, and up to `made` of the containers around it if they are empty.

        Raises:
            EditRefusedError: the text cannot be read.
        """
        left = tree_without(self._tree_of(text), keys, self._written(value), made=made)
        return checked(self._cut(text, Cut(keys, value, made, left)), left, tree_of=self._tree_of)
