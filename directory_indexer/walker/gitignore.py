"""Parser of gitignore patterns, following git's own source.

Patterns are compared with the bytes of a name, as in git: `byte_text` returns a name in this form, one character for
each byte.

Every pattern is matched in time proportional to its length times that of the name. A run of stars is one star; text
between two stars is matched at its first position without backtracking, since a later one cannot help; and a path is
matched directory by directory.

Two deliberate differences from git: `foo**/bar` means `foo*/bar`, as git's manual has it, while git's code lets `**`
after a literal match whole directories; and under `core.ignoreCase` a capital in brackets is compared without case like
the rest of its pattern, while git compares it with the lower-case name, so that it can never match.
"""

from __future__ import annotations

import codecs
import os
import re
import string
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

MAX_PATTERN_BYTES: Final = 1000
MAX_COST: Final = 120_000
"""Bytes of path patterns in one source, with wildcards weighted; a bound for hostile files."""

_COST_OF_WILDCARDS: Final = 4

STAR: Final = frozenset[str]()
"""Stands in a glob for any number of characters."""

_SLASH: Final = frozenset("/")
_CHARS: Final = {char: frozenset(char) for char in map(chr, range(256))}
_ANY: Final = frozenset(map(chr, range(1, 256))) - _SLASH
_LONGEST_SHOWN: Final = 80
_UTF_16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_BRACKET_ITEM = re.compile(
    r"""\[:(?P<posix>[^\]]*):\]
    | (?:\\(?P<escaped_low>.)|(?P<low>[^\\])) - (?:\\(?P<escaped_high>.)|(?P<high>[^\]\\]))
    | (?:\\(?P<escaped>.)|(?P<plain>[^\\]))""",
    re.DOTALL | re.VERBOSE,
)
_POSIX_CLASSES: Final = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, range(1, 32))) + "\x7f",
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": " \t\n\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class Glob(NamedTuple):
    """A pattern for one name: at each position the characters that may occur, or `STAR`.

    `literal` is the only name that matches, if there is just one.
    """

    places: tuple[frozenset[str], ...]
    literal: str | None

    @classmethod
    def of(cls, places: tuple[frozenset[str], ...]) -> Glob:
        """Return the glob with the given positions."""
        is_literal = all(len(place) == 1 for place in places)
        return cls(places, "".join(char for place in places for char in place) if is_literal else None)

    @property
    def folded(self) -> Glob:
        """The glob that matches the folded names of those that this one matches."""
        return Glob.of(tuple(map(_folded, self.places)))

    @property
    def regex(self) -> str:
        """The pattern for `re.fullmatch` with `re.DOTALL`; it has no capturing groups."""
        first, *others = ("".join(map(_place_regex, places)) for places in _split(self.places, STAR))
        if not others:
            return first
        *inner, last = others
        return first + "".join(f"(?>.*?{between})" for between in inner if between) + ".*" + last


class Rule(NamedTuple):
    """One line of an ignore file: a glob for each segment of a path, `None` for any number of directories.

    A pattern for names alone has the steps `(None, glob)`.
    """

    label: str
    is_negated: bool
    only_directories: bool
    steps: tuple[Glob | None, ...]

    @property
    def name_glob(self) -> Glob | None:
        """The glob of a rule for names alone."""
        return self.steps[1] if len(self.steps) == 2 and self.steps[0] is None else None  # noqa: PLR2004 - a pair


class ParsedRules(NamedTuple):
    """The rules of one source in the order of its lines, and a message for each invalid line."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()


def byte_text(name: str) -> str:
    """Return the form of a name that patterns are compared with."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


def fold(name: str) -> str:
    """Convert ASCII letters to lower case, and no others, since these are bytes."""
    return name.lower() if name.isascii() else name.encode("latin-1").lower().decode("latin-1")


@lru_cache(maxsize=512)
def _folded(place: frozenset[str]) -> frozenset[str]:
    return frozenset(map(fold, place))


def parse_rules(content: bytes, *, source: str) -> ParsedRules:
    """Parse an ignore file; `source` names it in the labels of its rules, before the number and text of the line."""
    if content.startswith(_UTF_16_MARKS):
        return ParsedRules((), (f"{source}: is UTF-16, but git reads ignore files as UTF-8",))
    lines = enumerate(_lines(content), start=1)
    return _parse((f"{source}:{number}: {_excerpt(line)}", line) for number, line in lines)


def parse_patterns(patterns: Iterable[str], *, source: str) -> ParsedRules:
    """Parse single patterns; `source` names them in the labels of the rules."""
    return _parse((f"{source}: {pattern}", _without_trailing_spaces(byte_text(pattern))) for pattern in patterns)


def _parse(lines: Iterable[tuple[str, str]]) -> ParsedRules:
    rules: list[Rule] = []
    problems: list[str] = []
    cost = 0
    for label, line in lines:
        if not line or line.startswith("#"):
            continue
        try:
            rule = _rule(line, label)
        except ValueError as error:
            problems.append(f"{label}: {error}")
            continue
        cost += _cost(rule) * len(line)
        if cost > MAX_COST:
            problems.append(f"{label}: from here on left out, for the patterns before are too many")
            break
        rules.append(rule)
    return ParsedRules(tuple(rules), tuple(problems))


def _cost(rule: Rule) -> int:
    if any(glob is None or glob.literal is None for glob in rule.steps[1:]):
        return _COST_OF_WILDCARDS
    return 0 if rule.name_glob else 1


def _lines(content: bytes) -> Iterator[str]:
    for line in content.removeprefix(codecs.BOM_UTF8).decode("latin-1").split("\n"):
        yield _without_trailing_spaces(line.removesuffix("\r").partition("\0")[0])


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    n_backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if n_backslashes % 2 and stripped != line else stripped


def _excerpt(line: str) -> str:
    text = line.encode("latin-1").decode("utf-8", "replace")
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _rule(line: str, label: str) -> Rule:
    pattern = line.removeprefix("!")
    if len(pattern) > MAX_PATTERN_BYTES:
        raise ValueError(f"longer than {MAX_PATTERN_BYTES} bytes")
    path = pattern.removesuffix("/")
    steps = _steps(path.removeprefix("/")) if "/" in path else (None, Glob.of(tuple(_places(path))))
    return Rule(label, is_negated=pattern != line, only_directories=path != pattern, steps=steps)


def _steps(path: str) -> tuple[Glob | None, ...]:
    segments = _split(_places(path), _SLASH)
    return tuple(None if segment[1:] and not any(segment) else Glob.of(segment) for segment in segments)


def _split(places: Iterable[frozenset[str]], separator: frozenset[str]) -> list[tuple[frozenset[str], ...]]:
    parts: list[tuple[frozenset[str], ...]] = [()]
    for place in places:
        if place == separator:
            parts.append(())
        else:
            parts[-1] += (place,)
    return parts


def _places(pattern: str) -> Iterator[frozenset[str]]:
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            yield STAR
        elif char == "?":
            yield _ANY
        elif char == "[":
            chars, position = _bracket(pattern, position)
            yield chars
        elif char == "\\":
            if position == len(pattern):
                raise ValueError("nothing can match, for a backslash stands at the end")
            yield _CHARS[pattern[position]]
            position += 1
        else:
            yield _CHARS[char]


def _bracket(pattern: str, start: int) -> tuple[frozenset[str], int]:
    """Parse a bracket expression after its `[`; return its characters and its end."""
    is_negated = pattern.startswith(("!", "^"), start)
    position = first = start + is_negated
    chars: set[str] = set()
    while position == first or not pattern.startswith("]", position):
        item = _BRACKET_ITEM.match(pattern, position)
        if item is None:
            raise ValueError("nothing can match, for a bracket is not closed")
        chars |= _bracket_chars(item)
        position = item.end()
    matching = _ANY - chars if is_negated else _ANY & chars
    if not matching:
        raise ValueError("nothing can match, for brackets hold no character of a name")
    return matching, position + 1


def _bracket_chars(item: re.Match[str]) -> set[str]:
    groups = item.groupdict()
    if (posix := groups["posix"]) is not None:
        if posix not in _POSIX_CLASSES:
            raise ValueError(f"nothing can match, for there is no class [:{posix}:]")
        return set(_POSIX_CLASSES[posix])
    low, high = groups["escaped_low"] or groups["low"], groups["escaped_high"] or groups["high"]
    if low is not None:
        return {chr(code) for code in range(ord(low), ord(high) + 1)}
    return {groups["escaped"] or groups["plain"]}


def _place_regex(place: frozenset[str]) -> str:
    if len(place) == 1:
        return re.escape(*place)
    if place == _ANY:
        return "."
    others = _ANY - place
    return f"[^{_escaped(others)}]" if len(others) < len(place) else f"[{_escaped(place)}]"


def _escaped(chars: frozenset[str]) -> str:
    return re.escape("".join(sorted(chars)))
