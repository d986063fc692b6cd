"""Patterns as in `.gitignore` that say which paths are wanted: those of searches, in the language of the walk."""

from __future__ import annotations

from collections.abc import Sequence

from directory_indexer.errors import UsageError
from directory_indexer.walker.gitignore import byte_text, parse_patterns
from directory_indexer.walker.rule_layer import Layer, layer_of


class PathPatterns:
    """Patterns of which the last that matches a path, or a directory that it lies in, decides; `!` takes back.

    Raises:
        UsageError: one of them is no pattern.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        parsed = parse_patterns(patterns, source="pattern")
        if parsed.problems or not parsed.rules:
            what = parsed.problems[0] if parsed.problems else f"pattern: '{' '.join(patterns)}' names nothing"
            raise UsageError(what, hint="write patterns as in .gitignore: *.md, src/**, !drafts/")
        self._rules = parsed.rules
        self._numbers = {rule: number for number, rule in enumerate(parsed.rules)}
        self._inside: dict[str, tuple[Layer, int]] = {"": (layer_of(parsed.rules), -1)}

    def match(self, path: str) -> bool:
        """Tell whether a file is wanted, by its path below the directory that the patterns are meant for."""
        directory, _, name = path.rpartition("/")
        layer, last = self._in(directory)
        last = max(last, self._last_match(layer, name, is_directory=False))
        return last >= 0 and not self._rules[last].is_negated

    def _in(self, directory: str) -> tuple[Layer, int]:
        """Give the rules as they stand in a directory, and the number of the last one that matches it or one above."""
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
