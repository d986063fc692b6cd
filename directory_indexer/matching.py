"""Matching of lines by patterns: compilation, required literals, and spans of lines.

Pure: of an index, only its tokenisation is known here.

RE2 takes linear time for every pattern. It has the syntax of ripgrep, without backreferences and look-around. Its
classes are ASCII only, so they are expanded to those of Unicode.

Every match contains certain literals, which the syntax tree of the pattern shows. It reduces to clauses: every match
contains at least one text of each clause. Constructs that RE2 and Python read differently, or that are not understood,
require nothing, so that no match is missed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import well_formed

with lazily:
    import re2

_WORD_CHARACTERS: Final = r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}"
_CLASSES: Final = {r"\w": _WORD_CHARACTERS, r"\d": r"\p{Nd}", r"\s": r"\t\x0b\f\r\x85\p{Z}"}
_NEGATED_CLASSES: Final = frozenset((r"\W", r"\D", r"\S"))
_BYTE_ESCAPE: Final = r"\C"
_ESCAPE: Final = r"\\[pP]\{[^}]*\}|\\[pP]?."
# A closing bracket at the start of a class is a member of it.
_ELEMENT: Final = r"\\[pP]\{[^}]*\}|\\.|\[:\^?\w+:\]|\[\^?\]?|\]"
_MAX_MEMORY_BYTES: Final = 64 << 20
_CONTINUATION_MASK: Final = 0xC0
_CONTINUATION: Final = 0x80


Clause: TypeAlias = frozenset[str]


class _Part(NamedTuple):
    """The texts that a part of a pattern can match: exactly `texts`, or any that contains one text of each clause."""

    texts: Clause | None
    clauses: tuple[Clause, ...] = ()

    @property
    def required(self) -> tuple[Clause, ...]:
        """The clauses of a part that stands by itself."""
        if self.texts is None:
            return self.clauses
        return (self.texts,) if all(self.texts) else ()


_PARSE: Final = re._parser.parse  # type: ignore[attr-defined]  # noqa: SLF001 - the syntax tree has no public interface
_POSIX_CLASS: Final = "[["
"""RE2 reads `[[:alpha:]]` as a named class, Python as brackets."""

_EMPTY: Final[Clause] = frozenset(("",))
_ANYTHING: Final = _Part(None)
_MAX_TEXTS: Final = 64
_MAX_CLASS_CHARACTERS: Final = 4
_MAX_PATTERN_LENGTH: Final = 4096
"""Parsing takes time quadratic in the length of the pattern; matching does not."""


class PatternOptions(NamedTuple):
    """Patterns, any of which a line must match: regular expressions, or literal texts if `are_texts`.

    `are_words` requires word boundaries around a match, `are_lines` that it is the whole line.
    """

    patterns: tuple[str, ...]
    are_texts: bool = False
    ignore_case: bool = False
    smart_case: bool = False
    are_words: bool = False
    are_lines: bool = False


class LinePattern:
    """A compiled pattern that is matched against lines of texts in UTF-8."""

    def __init__(self, options: PatternOptions) -> None:
        """Compile a pattern.

        Raises:
            UsageError: it is no regular expression, matches line ends alone, or is too large.
        """
        self._options = options
        self._group = int(options.are_words)
        self._compiled = _compile(options)

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses of the pattern: every matching line contains one text of each, in any case."""
        patterns = self._options.patterns
        return clauses_of_texts(patterns) if self._options.are_texts else required_clauses(patterns)

    def first(self, text: bytes, start: int = 0) -> tuple[int, int] | None:
        """Return the span of the first match at or after `start`; a match lies within one line."""
        match = self._compiled.search(text, start)
        return match.span(self._group) if match else None

    def spans(self, line: bytes) -> Iterator[tuple[int, int]]:
        """Yield the spans of the non-empty matches in a line, from left to right."""
        at = 0
        while at <= len(line) and (span := self.first(line, at)) is not None:
            if span[0] < span[1]:
                yield span
            at = span[1] if span[0] < span[1] else _next_character(line, span[1])


def required_clauses(patterns: Sequence[str]) -> tuple[Clause, ...]:
    """Return the clauses of a line that matches any of these regular expressions."""
    return _alternation([_parse_pattern(pattern) for pattern in patterns]).required


def clauses_of_texts(texts: Sequence[str]) -> tuple[Clause, ...]:
    """Return the clauses of a line that contains one of these texts."""
    return _Part(frozenset(texts)).required


def _compile(options: PatternOptions) -> re2._Regexp:
    for pattern in options.patterns:
        _validate_pattern(pattern, options)
    parts = [re2.escape(pattern) if options.are_texts else _expand_classes(pattern) for pattern in options.patterns]
    expression = "|".join(f"(?:{part})" for part in parts)
    if options.are_lines:
        expression = f"^(?:{expression})$"
    elif options.are_words:
        expression = f"(?:^|[^{_WORD_CHARACTERS}])({expression})(?:$|[^{_WORD_CHARACTERS}])"
    ignore_case = options.ignore_case or (options.smart_case and not any(map(_has_uppercase, options.patterns)))
    try:
        return re2.compile(
            f"(?m{'i' if ignore_case else ''}){expression}", _engine_options(has_groups=options.are_words)
        )
    except re2.error as error:
        raise UsageError(f"the pattern cannot be compiled: {_error_text(error)}") from error


def _validate_pattern(pattern: str, options: PatternOptions) -> None:
    if "\n" in pattern:
        raise UsageError(
            "a pattern contains a line break, but lines are matched one by one", hint="pass each line with -e"
        )
    if (escaped := well_formed(pattern)) != pattern:
        raise UsageError(f"'{escaped}' holds bytes that are not text, and only text is indexed")
    if options.are_texts:
        return
    if any(element[0] == _BYTE_ESCAPE for element in re.finditer(_ELEMENT, pattern)):
        raise UsageError(
            f"'{pattern}' matches a single byte, but text is matched by characters", hint="use . for any character"
        )
    try:
        re2.compile(pattern, _engine_options(has_groups=False))
    except re2.error as error:
        raise UsageError(
            f"'{pattern}' is not a regular expression: {_error_text(error)}",
            hint="-F searches for it as plain text; backreferences and look-around are not supported",
        ) from error


def _engine_options(*, has_groups: bool) -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.never_capture = not has_groups
    options.max_mem = _MAX_MEMORY_BYTES
    return options


def _error_text(error: Exception) -> str:
    text = error.args[0] if error.args else "unknown"
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


def _expand_classes(pattern: str) -> str:
    """Expand the classes of letters, digits and white space to those of Unicode."""
    is_in_class = False

    def expand(match: re.Match[str]) -> str:
        nonlocal is_in_class
        element = match[0]
        if element in _CLASSES:
            return _CLASSES[element] if is_in_class else f"[{_CLASSES[element]}]"
        if element in _NEGATED_CLASSES and not is_in_class:
            return f"[^{_CLASSES[element.lower()]}]"
        if element[0] == "[" and not element.startswith("[:"):
            is_in_class = True
        elif element == "]":
            is_in_class = False
        return element

    return re.sub(_ELEMENT, expand, pattern)


def _has_uppercase(pattern: str) -> bool:
    return any(character.isupper() for character in re.sub(_ESCAPE, "", pattern))


def _next_character(line: bytes, at: int) -> int:
    at += 1
    while at < len(line) and line[at] & _CONTINUATION_MASK == _CONTINUATION:
        at += 1
    return at


def _parse_pattern(pattern: str) -> _Part:
    if _POSIX_CLASS in pattern or len(pattern) > _MAX_PATTERN_LENGTH:
        return _ANYTHING
    try:
        return _concatenation(_PARSE(pattern))
    except (re.error, RecursionError, OverflowError):
        return _ANYTHING


def _concatenation(items: Iterable[tuple[Any, Any]]) -> _Part:
    texts: Clause = _EMPTY
    clauses: list[Clause] = []
    is_exact = True
    for operator, argument in items:
        part = _parse_item(str(operator), argument)
        if part.texts is not None and len(texts) * len(part.texts) <= _MAX_TEXTS:
            texts = frozenset("".join(pair) for pair in product(texts, part.texts))
            continue
        is_exact = False
        clauses += _Part(texts).required
        clauses += part.clauses
        texts = _EMPTY if part.texts is None else part.texts
    if is_exact:
        return _Part(texts)
    return _Part(None, (*clauses, *_Part(texts).required))


def _parse_item(operator: str, argument: Any) -> _Part:
    reader = _READERS.get(operator)
    return reader(argument) if reader else _ANYTHING


def _class_characters(items: Sequence[tuple[Any, Any]]) -> Clause | None:
    """Return the characters of a class, or None if there are many."""
    if len(items) > _MAX_CLASS_CHARACTERS or any(str(operator) != "LITERAL" for operator, _ in items):
        return None
    return frozenset(chr(code) for _, code in items)


def _repetition(least: int, most: int, items: Iterable[tuple[Any, Any]]) -> _Part:
    body = _concatenation(items)
    if most == 1:
        return body if least else _optional(body)
    return _Part(None, body.required) if least else _ANYTHING


def _optional(body: _Part) -> _Part:
    return _ANYTHING if body.texts is None else _Part(body.texts | _EMPTY)


def _alternation(branches: Sequence[_Part]) -> _Part:
    texts = [branch.texts for branch in branches if branch.texts is not None]
    if len(texts) == len(branches):
        return _Part(frozenset().union(*texts))
    required = [branch.required for branch in branches]
    if not all(required):
        return _ANYTHING
    return _Part(None, (frozenset().union(*(max(clauses, key=_min_length) for clauses in required)),))


def _min_length(clause: Clause) -> int:
    return min(map(len, clause))


_READERS: Final[Mapping[str, Callable[[Any], _Part]]] = {
    "LITERAL": lambda code: _Part(frozenset((chr(code),))),
    "AT": lambda _: _Part(_EMPTY),
    "IN": lambda items: _Part(_class_characters(items)),
    "SUBPATTERN": lambda group: _concatenation(group[-1]),
    "BRANCH": lambda branches: _alternation([_concatenation(branch) for branch in branches[1]]),
    "MAX_REPEAT": lambda repeated: _repetition(*repeated),
    "MIN_REPEAT": lambda repeated: _repetition(*repeated),
}
