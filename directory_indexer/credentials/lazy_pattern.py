"""Regular expressions that are compiled on first use.

Compiling all of them takes 40 ms, and most texts need few: an edited file must not pay for the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

_MANY_TEXTS = 20
_METHODS = ("search", "match", "fullmatch", "finditer", "findall")


class LazyPattern:
    """A regular expression with the methods of `re.Pattern`.

    With `marks`, a text without any of them cannot match, and the pattern is not compiled for it. This applies to the
    first texts only: once compiled, the engine finds the beginning of a match faster than several marks are looked for.
    """

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    findall: Callable[..., list[str]]

    def __init__(self, pattern: str, flags: int = 0, *, marks: tuple[str, ...] = ()) -> None:
        self.pattern = pattern
        self.flags = flags
        self.marks = marks
        self._n_texts = 0

    def __getattr__(self, name: str) -> Any:
        # Once compiled, the methods are instance attributes, and this is not called again.
        if name not in _METHODS:
            raise AttributeError(name)

        def at_first(text: str, *bounds: int) -> Any:
            self._n_texts += 1
            is_one_of_few = self.marks and self._n_texts < _MANY_TEXTS
            if is_one_of_few and not any(mark in text for mark in self.marks):
                return None if name in {"search", "match", "fullmatch"} else iter(())
            compiled = re.compile(self.pattern, self.flags)
            vars(self).update({method: getattr(compiled, method) for method in _METHODS})
            return getattr(compiled, name)(text, *bounds)

        return at_first
