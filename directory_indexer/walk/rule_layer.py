"""The rules of one source in the context of one directory below it, and patterns that select paths for searches.

A path pattern is followed from directory to directory: in each one it is known which of its segments may come next, so
that a decision about an entry only needs its name. Rules on names alone are the same in every directory, and a
directory in which nothing changes shares the layer of its parent.

All names here are `byte_text`; rules that ignore case are folded, and compared with folded names.

The patterns of searches are in the language of `.gitignore`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from directory_indexer.core.errors import UsageError
from directory_indexer.walk.gitignore import (
    MAX_PATTERN_BYTES,
    Glob,
    NameHints,
    Rule,
    byte_text,
    fold_ascii_case,
    name_hints_of,
    parse_patterns,
    union_of_hints,
)


class Layer:
    """Rules of which the last matching one decides."""

    def __init__(self, source: _Source, routes: Sequence[_RuleProgress]) -> None:
        self._source = source
        self._routes = routes

    def enter(self, directory: str) -> Layer:
        """Return the layer in a sub-directory."""
        name = self._source.spelled(directory)
        return self._with(route.entered(name) for route in self._routes)

    @cached_property
    def elsewhere(self) -> Layer:
        """The layer in sub-directories that advance no path pattern."""
        return self._with(route.kept() for route in self._routes)

    def deciding_rule(self, entry: str, *, is_directory: bool) -> Rule | None:
        """Return the last rule that matches an entry of this directory."""
        name = self._source.spelled(entry)
        order = self._source.last_match(name, is_directory=is_directory)
        for route in self._last_steps:
            if route.order < order:
                break
            if (is_directory or not route.rule.only_directories) and route.ends_with(name):
                return route.rule
        return self._source.rules[order] if order >= 0 else None

    @cached_property
    def hints(self) -> NameHints:
        """Properties that the name of an entry needs for a rule to exclude it."""
        last_steps = (route.rule.steps[-1] for route in self._last_steps if not route.rule.is_negated)
        return union_of_hints((self._source.hints, name_hints_of(last_steps)))

    @cached_property
    def descent_hints(self) -> NameHints:
        """Properties that the name of a sub-directory needs to advance a path pattern."""
        return name_hints_of(glob for route in self._routes for glob in route.next_steps())

    @cached_property
    def _last_steps(self) -> list[_RuleProgress]:
        return [route for route in reversed(self._routes) if route.is_at_last_step]

    def _with(self, routes: Iterable[_RuleProgress | None]) -> Layer:
        alive = [route for route in routes if route is not None]
        return self if alive == self._routes else Layer(self._source, alive)


def layer_of(rules: Sequence[Rule], *, ignore_case: bool = False) -> Layer:
    """Return the layer of rules in the directory that their paths are relative to."""
    if ignore_case:
        rules = [_fold_rule(rule) for rule in rules]
    on_paths = [(order, rule) for order, rule in enumerate(rules) if rule.name_glob is None]
    return Layer(_Source(rules, ignore_case=ignore_case), [_make_route(order, rule) for order, rule in on_paths])


def _fold_rule(rule: Rule) -> Rule:
    return rule._replace(steps=tuple(step and step.folded for step in rule.steps))


class _Source:
    """The rules of a source; it decides those on names alone."""

    def __init__(self, rules: Sequence[Rule], *, ignore_case: bool) -> None:
        self.rules = rules
        self._ignore_case = ignore_case
        self._on_names = [(order, rule, glob) for order, rule in enumerate(rules) if (glob := rule.name_glob)]

    def spelled(self, name: str) -> str:
        """Return a name in the form that the rules are compared with."""
        return fold_ascii_case(name) if self._ignore_case else name

    def last_match(self, name: str, *, is_directory: bool) -> int:
        """Return the index of the last matching rule on names, or -1."""
        return self._for_directories(name) if is_directory else self._for_files(name)

    @cached_property
    def hints(self) -> NameHints:
        return name_hints_of(glob for _, rule, glob in self._on_names if not rule.is_negated)

    @cached_property
    def _for_directories(self) -> Callable[[str], int]:
        return _make_last_match((order, glob) for order, _, glob in self._on_names)

    @cached_property
    def _for_files(self) -> Callable[[str], int]:
        return _make_last_match((order, glob) for order, rule, glob in self._on_names if not rule.only_directories)


def _make_last_match(globs: Iterable[tuple[int, Glob]]) -> Callable[[str], int]:
    literals: dict[str, int] = {}
    wild: list[tuple[int, str]] = []
    for order, glob in globs:
        if glob.literal is None:
            wild.append((order, glob.regex))
        else:
            literals[glob.literal] = order
    if not wild:
        return lambda name: literals.get(name, -1)
    # The first matching alternative of a regex wins, so the last rule comes first.
    wild.reverse()
    match_wild = re.compile("|".join(f"({regex})" for _, regex in wild), re.DOTALL).fullmatch

    def last_match(name: str) -> int:
        order = literals.get(name, -1)
        match = match_wild(name)
        return order if match is None else max(order, wild[(match.lastindex or 1) - 1][0])

    return last_match


class _RuleProgress(NamedTuple):
    """Progress of a path pattern: the indexes of the steps that may come next, in ascending order."""

    order: int
    rule: Rule
    tests: tuple[Callable[[str], object] | None, ...]
    places: tuple[int, ...]

    @property
    def is_at_last_step(self) -> bool:
        return self.places[-1] == len(self.tests) - 1

    def ends_with(self, name: str) -> bool:
        """Whether the last step of the pattern matches an entry."""
        test = self.tests[-1]
        return test is None or bool(test(name))

    def next_steps(self) -> Iterator[Glob]:
        """Yield the globs that a directory can match and that others follow."""
        return (glob for place in self.places if (glob := self.rule.steps[place]) and place + 1 < len(self.tests))

    def entered(self, directory: str) -> _RuleProgress | None:
        """Advance the pattern into a sub-directory."""
        return self._at(
            place if test is None else place + 1
            for place in self.places
            if (test := self.tests[place]) is None or (place + 1 < len(self.tests) and test(directory))
        )

    def kept(self) -> _RuleProgress | None:
        """Advance the pattern into a sub-directory that matches no step of it."""
        return self._at(place for place in self.places if self.tests[place] is None)

    def _at(self, places: Iterable[int]) -> _RuleProgress | None:
        reached = sorted({further for place in places for further in _places_reached(self.tests, place)})
        return self._replace(places=tuple(reached)) if reached else None


def _make_route(order: int, rule: Rule) -> _RuleProgress:
    tests = tuple(None if glob is None else _glob_test(glob) for glob in rule.steps)
    return _RuleProgress(order, rule, tests, tuple(_places_reached(tests, 0)))


def _glob_test(glob: Glob) -> Callable[[str], object]:
    return re.compile(glob.regex, re.DOTALL).fullmatch if glob.literal is None else glob.literal.__eq__


def _places_reached(tests: Sequence[object | None], place: int) -> Iterator[int]:
    """Yield the steps that can come next once `place` can: `**` may match no directory."""
    yield place
    while tests[place] is None and place + 1 < len(tests):
        place += 1
        yield place


class PathPatterns:
    """Patterns of which the last one that matches a path, or a directory around it, decides; `!` negates.

    Unlike in `.gitignore`, braces hold alternatives, as in `*.{c,h}`.

    Raises:
        UsageError: one of them is invalid.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        parsed = parse_patterns(
            [expanded for pattern in patterns for expanded in _expand_braces(pattern)], source="pattern"
        )
        if parsed.problems or not parsed.rules:
            what = parsed.problems[0] if parsed.problems else f"pattern: '{' '.join(patterns)}' names nothing"
            raise UsageError(what, hint="write patterns as in .gitignore: *.md, src/**, !drafts/")
        self._rules = parsed.rules
        self._numbers = {rule: number for number, rule in enumerate(parsed.rules)}
        self._inside: dict[str, tuple[Layer, int]] = {"": (layer_of(parsed.rules), -1)}

    def match(self, path: str) -> bool:
        """Whether a file is selected, by its path relative to the directory of the patterns."""
        directory, _, name = path.rpartition("/")
        layer, last = self._layer_of_directory(directory)
        last = max(last, self._make_last_match(layer, name, is_directory=False))
        return last >= 0 and not self._rules[last].is_negated

    def _layer_of_directory(self, directory: str) -> tuple[Layer, int]:
        """Return the rules in a directory, and the number of the last one that matches it or a directory around it."""
        if directory in self._inside:
            return self._inside[directory]
        layer, last = self._inside[""]
        end = -1
        while end < len(directory):
            start, end = end + 1, directory.find("/", end + 1)
            end = len(directory) if end < 0 else end
            above, last = layer, max(last, self._make_last_match(layer, directory[start:end], is_directory=True))
            layer = above.enter(byte_text(directory[start:end]))
        self._inside[directory] = layer, last
        return layer, last

    def _make_last_match(self, layer: Layer, name: str, *, is_directory: bool) -> int:
        rule = layer.deciding_rule(byte_text(name), is_directory=is_directory)
        return -1 if rule is None else self._numbers[rule]


def _expand_braces(pattern: str) -> list[str]:
    """Expand a pattern with braces as ripgrep does; an unmatched brace is literal.

    Raises:
        UsageError: there would be too many of them.
    """
    done, waiting = [], [pattern]
    while waiting:
        text = waiting.pop()
        if len(pattern) > MAX_PATTERN_BYTES or (group := _innermost_braces(text)) is None:
            done.append(text)
        else:
            waiting += [
                f"{text[: group.start]}{alternative}{text[group.end :]}" for alternative in reversed(group.alternatives)
            ]
        if len(done) + len(waiting) > _MAX_ALTERNATIVES:
            raise UsageError(
                f"the braces of '{pattern[:_MAX_MESSAGE_CHARS]}' hold too many alternatives", hint="write fewer braces"
            )
    return list(dict.fromkeys(done))


class _Group(NamedTuple):
    """A pair of braces: its position, and its alternatives."""

    start: int
    end: int
    alternatives: list[str]


def _innermost_braces(text: str) -> _Group | None:
    """Return the first innermost pair of braces."""
    edges: list[int] = []
    for sign in _GLOB_SIGNS.finditer(text):
        match sign[0]:
            case "{":
                edges = [sign.start()]
            case "," if edges:
                edges.append(sign.start())
            case "}" if edges:
                bounds = pairwise([*edges, sign.start()])
                return _Group(edges[0], sign.end(), [text[first + 1 : end] for first, end in bounds])
    return None


_MAX_ALTERNATIVES: Final = 1000
_MAX_MESSAGE_CHARS: Final = 80
_GLOB_SIGNS: Final = re.compile(r"\\.|\[!?\]?[^\]]*\]|[{},]", re.DOTALL)
"""Tokens beside braces: an escaped character, and a class, in which braces are literal."""
