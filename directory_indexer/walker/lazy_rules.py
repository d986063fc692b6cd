"""Lazily evaluated rules of a directory: in an unchanged directory they are not needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.walker.ignore import Rules


class LazyRules:
    """The rules of a directory, or the step that computes them.

    `key` represents everything that they depend on, beside the path of the directory: while it is the same, so are the
    rules. It is None if not everything could be read.
    """

    def __init__(self, key: bytes | None, rules: Rules | Step) -> None:
        self.key = key
        self.made: Rules | Step = rules

    def leading_to(self, change: Callable[[Rules], Rules], *, key: bytes | None) -> LazyRules:
        """Return the rules that result from a change of these."""
        return LazyRules(key, Step(self, change))

    def entering(self, directory_name: str) -> LazyRules:
        """Return the rules in a sub-directory, before its own are added."""
        return self.leading_to(lambda rules: rules.enter(directory_name), key=self.key)

    def resolve(self) -> Rules:
        """Compute the rules."""
        # Iterative: directories may be nested ten thousand deep.
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
    """The derivation of rules from outer ones."""

    outer: LazyRules
    change: Callable[[Rules], Rules]
