"""Patterns in the language of `.gitignore` that select paths for searches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from directory_indexer.errors import UsageError
from directory_indexer.walker.gitignore import MAX_PATTERN_BYTES, byte_text, parse_patterns
from directory_indexer.walker.rule_layer import Layer, layer_of


class PathPatterns:
    """Patterns of which the last one that matches a path, or a directory around it, decides; `!` negates.

    Unlike in `.gitignore`, braces hold alternatives, as in `*.{c,h}`.

    Raises:
        UsageError: one of them is invalid.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        parsed = parse_patterns([expanded for pattern in patterns for expanded in _unbraced(pattern)], source="pattern")
        if parsed.problems or not parsed.rules:
            what = parsed.problems[0] if parsed.problems else f"pattern: '{' '.join(patterns)}' names nothing"
            raise UsageError(what, hint="write patterns as in .gitignore: *.md, src/**, !drafts/")
        self._rules = parsed.rules
        self._numbers = {rule: number for number, rule in enumerate(parsed.rules)}
        self._inside: dict[str, tuple[Layer, int]] = {"": (layer_of(parsed.rules), -1)}

    def match(self, path: str) -> bool:
        """Whether a file is selected, by its path relative to the directory of the patterns."""
        directory, _, name = path.rpartition("/")
        layer, last = self._in(directory)
        last = max(last, self._last_match(layer, name, is_directory=False))
        return last >= 0 and not self._rules[last].is_negated

    def _in(self, directory: str) -> tuple[Layer, int]:
        """Return the rules in a directory, and the number of the last one that matches it or a directory around it."""
        if directory in self._inside:
            return self._inside[directory]
        layer, last = self._inside[""]
        end = -1
        while end < len(directory):
            start, end = end + 1, directory.find("/", end + 1)
            end = len(directory) if end < 0 else end
            above, last = layer, max(last, self._last_match(layer, directory[start:end], is_directory=True))
            layer = above.enter(byte_text(directory[start:end]))
        self._inside[directory] = layer, last
        return layer, last

    def _last_match(self, layer: Layer, name: str, *, is_directory: bool) -> int:
        rule = layer.deciding_rule(byte_text(name), is_directory=is_directory)
        return -1 if rule is None else self._numbers[rule]


def _unbraced(pattern: str) -> list[str]:
    """Expand a pattern with braces as ripgrep does; an unmatched brace is literal.

    Raises:
        UsageError: there would be too many of them.
    """
    done, waiting = [], [pattern]
    while waiting:
        text = waiting.pop()
        if len(pattern) > MAX_PATTERN_BYTES or (group := _inner_group(text)) is None:
            done.append(text)
        else:
            waiting += [
                f"{text[: group.start]}{alternative}{text[group.end :]}" for alternative in reversed(group.alternatives)
            ]
        if len(done) + len(waiting) > _MOST_ALTERNATIVES:
            raise UsageError(
                f"the braces of '{pattern[:_MAX_MESSAGE_CHARS]}' hold too many alternatives", hint="write fewer braces"
            )
    return list(dict.fromkeys(done))


class _Group(NamedTuple):
    """A pair of braces: its position, and its alternatives."""

    start: int
    end: int
    alternatives: list[str]


def _inner_group(text: str) -> _Group | None:
    """Return the first innermost pair of braces."""
    edges: list[int] = []
    for sign in _SIGNS.finditer(text):
        match sign[0]:
            case "{":
                edges = [sign.start()]
            case "," if edges:
                edges.append(sign.start())
            case "}" if edges:
                bounds = pairwise([*edges, sign.start()])
                return _Group(edges[0], sign.end(), [text[first + 1 : end] for first, end in bounds])
    return None


_MOST_ALTERNATIVES: Final = 1000
_MAX_MESSAGE_CHARS: Final = 80
_SIGNS: Final = re.compile(r"\\.|\[!?\]?[^\]]*\]|[{},]", re.DOTALL)
"""Tokens beside braces: an escaped character, and a class, in which braces are literal."""
