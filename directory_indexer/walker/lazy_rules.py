"""The rules of a directory, worked out only when somebody asks: where nothing has changed, nobody does."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.walker.ignore import Rules


class LazyRules:
    """The rules in force in a directory, or what they are to be made of.

    `key` stands for everything that they follow from, beside the path of the directory: while it is the same, so are
    the rules. It is None when not everything could be read.
    """

    def __init__(self, key: bytes | None, rules: Rules | Step) -> None:
        self.key = key
        self.made: Rules | Step = rules

    def leading_to(self, change: Callable[[Rules], Rules], *, key: bytes | None) -> LazyRules:
        """Return the rules that a change makes of these."""
        return LazyRules(key, Step(self, change))

    def entering(self, directory_name: str) -> LazyRules:
        """Return the rules as they stand in a sub-directory, before its own."""
        return self.leading_to(lambda rules: rules.enter(directory_name), key=self.key)

    def resolve(self) -> Rules:
        """Work the rules out."""
        # Without recursion: directories may lie in each other ten thousand deep.
        waiting: list[tuple[LazyRules, Step]] = []
        late = self
        while isinstance(late.made, Step):
            waiting.append((late, late.made))
            late = late.made.outer
        rules = late.made
        for late, step in reversed(waiting):
            rules = late.made = step.change(rules)
        return rules


class Step(NamedTuple):
    """How rules follow from those further out."""

    outer: LazyRules
    change: Callable[[Rules], Rules]
