"""Patterns as `grep` takes them, compiled by an engine that takes linear time whatever the pattern.

RE2 reads what ripgrep reads: the same syntax, without references back and without looking around. It counts ASCII alone
as letters and digits, so that the classes are written out for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.errors import UsageError
from directory_indexer.lazy import lazily
from directory_indexer.matching.literals import Clause, clauses_of_texts, required_clauses
from directory_indexer.paths import well_formed

with lazily:
    import re2


class PatternOptions(NamedTuple):
    """What lines must have in them: one of some regular expressions, or of some texts if they `are_texts`.

    With `are_words` no letter stands beside a match, with `are_lines` nothing does.
    """

    patterns: tuple[str, ...]
    are_texts: bool = False
    ignore_case: bool = False
    smart_case: bool = False
    are_words: bool = False
    are_lines: bool = False


class LinePattern:
    """A pattern that is looked for in the lines of texts in UTF-8."""

    def __init__(self, options: PatternOptions) -> None:
        """Compile a pattern.

        Raises:
            UsageError: it is no regular expression, matches line ends alone, or is too large.
        """
        self._options = options
        self._group = int(options.are_words)
        self._compiled = _compiled(options)

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """Of each clause, every line that matches has one text in it, in whatever case."""
        given = self._options.patterns
        return clauses_of_texts(given) if self._options.are_texts else required_clauses(given)

    def first(self, text: bytes, start: int = 0) -> tuple[int, int] | None:
        """Find the first match from a byte on, which lies in one line."""
        found = self._compiled.search(text, start)
        return found.span(self._group) if found else None

    def spans(self, line: bytes) -> Iterator[tuple[int, int]]:
        """Find all matches in a line, from left to right; empty ones tell nothing and are left out."""
        at = 0
        while at <= len(line) and (span := self.first(line, at)) is not None:
            if span[0] < span[1]:
                yield span
            at = span[1] if span[0] < span[1] else _next_character(line, span[1])


def _compiled(options: PatternOptions) -> re2._Regexp:
    for pattern in options.patterns:
        _require_pattern(pattern, options)
    parts = [re2.escape(one) if options.are_texts else _with_classes(one) for one in options.patterns]
    whole = "|".join(f"(?:{part})" for part in parts)
    if options.are_lines:
        whole = f"^(?:{whole})$"
    elif options.are_words:
        whole = f"(?:^|[^{_WORD}])({whole})(?:$|[^{_WORD}])"
    ignore_case = options.ignore_case or (options.smart_case and not any(map(_has_capital, options.patterns)))
    try:
        return re2.compile(f"(?m{'i' if ignore_case else ''}){whole}", _engine_options(has_groups=options.are_words))
    except re2.error as error:
        raise UsageError(f"the pattern cannot be compiled: {_told(error)}") from error


def _require_pattern(pattern: str, options: PatternOptions) -> None:
    if "\n" in pattern:
        raise UsageError("a pattern has a line end in it, and lines are matched one by one", hint="give each with -e")
    if _NO_TEXT.search(pattern):
        raise UsageError(f"'{well_formed(pattern)}' holds bytes that are not text, and only text is indexed")
    if options.are_texts:
        return
    if any(sign[0] == _ONE_BYTE for sign in re.finditer(_SIGN, pattern)):
        raise UsageError(
            f"'{pattern}' asks for a single byte, and texts are made of characters", hint="write . for any"
        )
    try:
        re2.compile(pattern, _engine_options(has_groups=False))
    except re2.error as error:
        raise UsageError(
            f"'{pattern}' is not a regular expression: {_told(error)}",
            hint="-F searches for it as plain text; backreferences and look-around are not supported",
        ) from error


def _engine_options(*, has_groups: bool) -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.never_capture = not has_groups
    options.max_mem = _MOST_MEMORY
    return options


def _told(error: Exception) -> str:
    told = error.args[0] if error.args else "unknown"
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)


def _with_classes(pattern: str) -> str:
    """Write out the classes of letters, digits and blanks of all languages."""
    is_in_class = False

    def written(found: re.Match[str]) -> str:
        nonlocal is_in_class
        sign = found[0]
        if sign in _CLASSES:
            return _CLASSES[sign] if is_in_class else f"[{_CLASSES[sign]}]"
        if sign in _NO_CLASSES and not is_in_class:
            return f"[^{_CLASSES[sign.lower()]}]"
        if sign[0] == "[" and not sign.startswith("[:"):
            is_in_class = True
        elif sign == "]":
            is_in_class = False
        return sign

    return re.sub(_SIGN, written, pattern)


def _has_capital(pattern: str) -> bool:
    return any(character.isupper() for character in re.sub(_ESCAPE, "", pattern))


def _next_character(line: bytes, at: int) -> int:
    at += 1
    while at < len(line) and line[at] & _CONTINUES_MASK == _CONTINUES:
        at += 1
    return at


_WORD: Final = r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}"
_CLASSES: Final = {r"\w": _WORD, r"\d": r"\p{Nd}", r"\s": r"\t\x0b\f\r\x85\p{Z}"}
_NO_CLASSES: Final = frozenset((r"\W", r"\D", r"\S"))
_NO_TEXT: Final = re.compile("[\ud800-\udfff]")
_ONE_BYTE: Final = r"\C"
_ESCAPE: Final = r"\\[pP]\{[^}]*\}|\\[pP]?."
# A closing bracket that stands first in a class belongs to it.
_SIGN: Final = r"\\[pP]\{[^}]*\}|\\.|\[:\^?\w+:\]|\[\^?\]?|\]"
_MOST_MEMORY: Final = 64 << 20
_CONTINUES_MASK: Final = 0xC0
_CONTINUES: Final = 0x80
