"""Parser of gitignore patterns, following git's own source, and a prefilter of names.

Patterns are compared with the bytes of a name, as in git: `byte_text` returns a name in this form, one character for
each byte.

Every pattern is matched in time proportional to its length times that of the name. A run of stars is one star; text
between two stars is matched at its first position without backtracking, since a later one cannot help; and a path is
matched directory by directory.

Two deliberate differences from git: `foo**/bar` means `foo*/bar`, as git's manual has it, while git's code lets `**`
after a literal match whole directories; and under `core.ignoreCase` a capital in brackets is compared without case like
the rest of its pattern, while git compares it with the lower-case name, so that it can never match.

Most names match no rule, which has to be found out cheaply. A hint is a property of a lower-case ASCII name that a glob
requires. A name with none of the hints matches none of the globs; one with a hint may still match none.
"""

from __future__ import annotations

import codecs
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

MAX_PATTERN_BYTES: Final = 1000
MAX_COST: Final = 120_000
"""Bytes of path patterns in one source, with wildcards weighted; a bound for hostile files."""

_COST_OF_WILDCARDS: Final = 4

STAR: Final = frozenset[str]()
"""Stands in a glob for any number of characters."""

_SLASH: Final = frozenset("/")
_ALL_CHARACTERS: Final = {char: frozenset(char) for char in map(chr, range(256))}
_ANY_BUT_SLASH: Final = frozenset(map(chr, range(1, 256))) - _SLASH
_MAX_SHOWN_CHARS: Final = 80
_UTF_16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_BRACKET_ITEM = re.compile(
    r"""\[:(?P<posix>[^\]]*):\]
    | (?:\\(?P<escaped_low>.)|(?P<low>[^\\])) - (?:\\(?P<escaped_high>.)|(?P<high>[^\]\\]))
    | (?:\\(?P<escaped>.)|(?P<plain>[^\\]))""",
    re.DOTALL | re.VERBOSE,
)
_GRAPHIC: Final = "".join(map(chr, range(33, 127)))  # those of `string`, which takes 1 ms to import
_POSIX_CLASSES: Final = {
    "alnum": "".join(filter(str.isalnum, _GRAPHIC)),
    "alpha": "".join(filter(str.isalpha, _GRAPHIC)),
    "blank": " \t",
    "cntrl": "".join(map(chr, range(1, 32))) + "\x7f",
    "digit": "0123456789",
    "graph": _GRAPHIC,
    "lower": "".join(filter(str.islower, _GRAPHIC)),
    "print": _GRAPHIC + " ",
    "punct": "".join(char for char in _GRAPHIC if not char.isalnum()),
    "space": " \t\n\r",
    "upper": "".join(filter(str.isupper, _GRAPHIC)),
    "xdigit": "0123456789abcdefABCDEF",
}

_MAX_SPELLINGS: Final = 16
_MAX_SPELLED: Final = 24
_AT_ONCE: Final = 10_000
_ONE_EXTENSION = re.compile(r"\.[^.]+", re.DOTALL)


class NameHints(NamedTuple):
    """Hints of several globs by kind of test: the whole name, its end, its beginning, or a part of it."""

    names: frozenset[str] = frozenset()
    extensions: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    starts: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()


_NO_HINTS: Final = frozenset[str]()
_HINT_OF_EVERY_NAME: Final = NameHints(starts=frozenset({""}))


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
        return Glob.of(tuple(map(_fold_place, self.places)))

    @property
    def regex(self) -> str:
        """The pattern for `re.fullmatch` with `re.DOTALL`; it has no capturing groups."""
        first, *others = ("".join(map(_place_regex, places)) for places in _split(self.places, STAR))
        if not others:
            return first
        *inner, last = others
        return first + "".join(f"(?>.*?{between})" for between in inner if between) + ".*" + last


def fold_ascii_case(name: str) -> str:
    """Convert ASCII letters to lower case, and no others, since these are bytes."""
    return name.lower() if name.isascii() else name.encode("latin-1").lower().decode("latin-1")


@lru_cache(maxsize=512)
def _fold_place(place: frozenset[str]) -> frozenset[str]:
    return frozenset(map(fold_ascii_case, place))


def _split(places: Iterable[frozenset[str]], separator: frozenset[str]) -> list[tuple[frozenset[str], ...]]:
    parts: list[tuple[frozenset[str], ...]] = [()]
    for place in places:
        if place == separator:
            parts.append(())
        else:
            parts[-1] += (place,)
    return parts


def _place_regex(place: frozenset[str]) -> str:
    if len(place) == 1:
        return re.escape(*place)
    if place == _ANY_BUT_SLASH:
        return "."
    others = _ANY_BUT_SLASH - place
    return f"[^{_escape_characters(others)}]" if len(others) < len(place) else f"[{_escape_characters(place)}]"


def _escape_characters(chars: frozenset[str]) -> str:
    return re.escape("".join(sorted(chars)))


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


def parse_rules(content: bytes, *, source: str) -> ParsedRules:
    """Parse an ignore file; `source` names it in the labels of its rules, before the number and text of the line."""
    if content.startswith(_UTF_16_MARKS):
        return ParsedRules((), (f"{source}: is UTF-16, but git reads ignore files as UTF-8",))
    lines = enumerate(_lines(content), start=1)
    return _parse_labelled_lines((f"{source}:{number}: {_excerpt(line)}", line) for number, line in lines)


def parse_patterns(patterns: Iterable[str], *, source: str) -> ParsedRules:
    """Parse single patterns; `source` names them in the labels of the rules."""
    return _parse_labelled_lines(
        (f"{source}: {pattern}", _without_trailing_spaces(byte_text(pattern))) for pattern in patterns
    )


def name_hints_of(globs: Iterable[Glob | None]) -> NameHints:
    """Return the hints of globs; `None` matches every name."""
    return union_of_hints(_hint_of_glob(glob) if glob else _HINT_OF_EVERY_NAME for glob in globs)


def union_of_hints(hints: Iterable[NameHints]) -> NameHints:
    """Return the union of hints: a name needs only one."""
    return NameHints(*(_NO_HINTS.union(*same) for same in zip(NameHints(), *hints, strict=True)))


def make_name_finder(hints: NameHints) -> Callable[[Sequence[str]], set[str]]:
    """Return a function that finds the names with a hint; names that are not ASCII are always included.

    It scans the names of a directory together, which costs half of what testing them one by one does.
    """
    exact, extensions = hints.names, hints.extensions
    search = _make_search(hints.starts, hints.ends, hints.parts)

    def find(names: Sequence[str]) -> set[str]:
        if len(names) > _AT_ONCE:
            half = len(names) // 2
            return find(names[:half]) | find(names[half:])
        joined = "/".join(names)
        lowered = joined.lower()
        keys = lowered.split("/") if names else []
        matches = set[str]()
        if not exact.isdisjoint(keys) or not extensions.isdisjoint([key[key.rfind(".") :] for key in keys]):
            pairs = zip(names, keys, strict=True)
            matches.update(name for name, key in pairs if key in exact or key[key.rfind(".") :] in extensions)
        if search and search(f"/{lowered}/"):
            matches.update(name for name, key in zip(names, keys, strict=True) if search(f"/{key}/"))
        if not joined.isascii():
            matches.update(name for name in names if not name.isascii())
        return matches

    return find


def _parse_labelled_lines(lines: Iterable[tuple[str, str]]) -> ParsedRules:
    rules: list[Rule] = []
    problems: list[str] = []
    cost = 0
    for label, line in lines:
        if not line or line.startswith("#"):
            continue
        try:
            rule = _parse_rule(line, label)
        except ValueError as error:
            problems.append(f"{label}: {error}")
            continue
        cost += _cost_of_rule(rule) * len(line)
        if cost > MAX_COST:
            problems.append(f"{label}: from here on left out, for the patterns before are too many")
            break
        rules.append(rule)
    return ParsedRules(tuple(rules), tuple(problems))


def _cost_of_rule(rule: Rule) -> int:
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
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


def _parse_rule(line: str, label: str) -> Rule:
    pattern = line.removeprefix("!")
    if len(pattern) > MAX_PATTERN_BYTES:
        raise ValueError(f"longer than {MAX_PATTERN_BYTES} bytes")
    path = pattern.removesuffix("/")
    steps = _parse_steps(path.removeprefix("/")) if "/" in path else (None, Glob.of(tuple(_parse_places(path))))
    return Rule(label, is_negated=pattern != line, only_directories=path != pattern, steps=steps)


def _parse_steps(path: str) -> tuple[Glob | None, ...]:
    segments = _split(_parse_places(path), _SLASH)
    return tuple(None if segment[1:] and not any(segment) else Glob.of(segment) for segment in segments)


def _parse_places(pattern: str) -> Iterator[frozenset[str]]:
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            yield STAR
        elif char == "?":
            yield _ANY_BUT_SLASH
        elif char == "[":
            chars, position = _parse_bracket(pattern, position)
            yield chars
        elif char == "\\":
            if position == len(pattern):
                raise ValueError("nothing can match, for a backslash stands at the end")
            yield _ALL_CHARACTERS[pattern[position]]
            position += 1
        else:
            yield _ALL_CHARACTERS[char]


def _parse_bracket(pattern: str, start: int) -> tuple[frozenset[str], int]:
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
    matching = _ANY_BUT_SLASH - chars if is_negated else _ANY_BUT_SLASH & chars
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


@lru_cache(maxsize=256)
def _make_search(starts: frozenset[str], ends: frozenset[str], parts: frozenset[str]) -> Callable[[str], object] | None:
    """Return a search for substrings of a name between slashes.

    Cached, since most ignore files add none to the outer ones.
    """
    shortest = (start for start in starts if not any(start[:n] in starts for n in range(len(start))))
    texts = [*(f"/{start}" for start in shortest), *(f"{end}/" for end in ends), *parts]
    # Grouping them by their first character halves the time of the search.
    groups = itertools.groupby(sorted(texts), key=lambda text: text[:1])
    regex = "|".join(
        f"{re.escape(first)}(?:{'|'.join(re.escape(text[1:]) for text in same)})" for first, same in groups
    )
    return re.compile(regex).search if texts else None


def _hint_of_glob(glob: Glob) -> NameHints:
    if glob.literal is not None:
        return NameHints(names=frozenset({fold_ascii_case(glob.literal)}))
    places = glob.folded.places
    starts = _possible_spellings(places)
    ends = frozenset(text[::-1] for text in _possible_spellings(places[::-1]))
    if STAR not in places and all(len(text) == len(places) for text in starts):
        return NameHints(names=starts)
    if all(_ONE_EXTENSION.fullmatch(text) for text in ends):
        return NameHints(extensions=ends)
    if "" not in starts:
        return NameHints(starts=starts)
    if "" not in ends:
        return NameHints(ends=ends)
    return NameHints(
        parts=max((_possible_spellings(places[start:]) for start in range(len(places))), key=_shortest_length)
    )


def _possible_spellings(places: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the texts of the longest prefix that is short, has no star and few spellings."""
    texts = {""}
    for place in places[:_MAX_SPELLED]:
        if place == STAR or len(place) * len(texts) > _MAX_SPELLINGS:
            break
        texts = {text + char for text in texts for char in place}
    return frozenset(texts)


def _shortest_length(texts: frozenset[str]) -> int:
    return min(map(len, texts))
