"""Detection of definitions of a name by the form of their line, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from directory_indexer.ranking.query import Query


def names_in(query: Query) -> tuple[str, ...]:
    """Return what a query may name: identifiers, and all words of a query of one or two."""
    is_short = len(query.words) <= _FEW_WORDS
    words = (word for word in query.words if (word.is_name or is_short) and not word.text.startswith(("-", "#")))
    texts = (word.text.removesuffix("()") for word in words)
    parts = (_LAST_PART.search(text) for text in texts)
    return tuple(dict.fromkeys(part[0] for part in parts if part))


def definition_form(names: Sequence[str], text: str) -> int | None:
    """Return the offset of the definition of a name in a text; None if there is none."""
    definition = most_certain_definition(names, text)
    return definition.at if definition else None


class DefinitionAt(NamedTuple):
    """A definition: the rank of its form, 0 being the surest (a keyword such as `class` or `def`), and its offset."""

    form: int
    at: int


def most_certain_definition(names: Sequence[str], text: str) -> DefinitionAt | None:
    """Return the first definition of the surest form; None if none of the names is defined."""
    definitions = [definition for name in names if name in text for definition in _definitions(name, text)]
    return min(definitions) if definitions else None


class _DefinitionForm(NamedTuple):
    """A form of definition: patterns for its line before and behind the name."""

    before: re.Pattern[str]
    behind: re.Pattern[str]


def _definitions(name: str, text: str) -> Iterator[DefinitionAt]:
    occurrences = re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)
    for match in islice(occurrences, _MAX_OCCURRENCES):
        start, end = match.span()
        line_end = text.find("\n", end)
        before = text[text.rfind("\n", 0, start) + 1 : start]
        behind = text[end : len(text) if line_end < 0 else line_end]
        if len(before) + len(behind) > _MAX_LINE_LENGTH or _COMMENT.match(before):
            continue
        if _AFTER_STRUCT.search(before) and _ONLY_USED.match(behind):
            continue
        ranks = (rank for rank, form in enumerate(_FORMS) if form.before.search(before) and form.behind.match(behind))
        if (rank := next(ranks, None)) is not None:
            yield DefinitionAt(rank, start)


def _compile_form(before: str, behind: str = "") -> _DefinitionForm:
    return _DefinitionForm(re.compile(before + r"\Z"), re.compile(behind))


_KEYWORDS: Final = (
    "class|struct|enum|union|trait|interface|protocol|record|object|module|namespace|package|mixin|"
    "def|defp|defmodule|defmacro|defmacrop|defprotocol|defguard|fn|fun|func|function|sub|proc|macro_rules!|macro|"
    "type|typedef|newtype|data|typealias"
)
_BINDINGS: Final = "const|let|var|val|static|local|my|our|define|constexpr"
_BASES: Final = r":[ \t]|\b(?:extends|implements)\b"
"""Precedes the base types of a definition."""

_AFTER_STRUCT: Final = re.compile(r"\b(?:struct|union|enum)\b[\w:<>,*&. \t#]*\Z")
_ONLY_USED: Final = re.compile(r"[ \t]*(?:[*&),]|[ \t]\w+[ \t]*[;=,)\[])")
"""Follows the name of a C structure that is used, not defined: a pointer, a variable, the end of a cast."""

_NOT_TYPES: Final = (
    "return|throw|await|yield|new|else|delete|goto|case|in|not|and|or|if|while|for|raise|assert|import|from|with|use"
)
_MODIFIERS: Final = "async|static|get|set|public|private|protected|override|export|default"
_FORMS: Final = (
    _compile_form(rf"(?:^|[^\w.])(?:{_KEYWORDS})[ \t*]+(?:\([^()]*\)[ \t]*)?(?:(?!{_BASES})[\w:<>,*&. \t#])*"),
    _compile_form(rf"^[ \t]*(?:#[ \t]*)?(?:\w+[ \t]+)*?(?:{_BINDINGS})[ \t]+[\w:<>,*&.\[\] \t]*"),
    _compile_form(
        rf"^[ \t]*(?!(?:{_NOT_TYPES})\b)[\w~@][\w:<>,*&.\[\]?~@ \t]*[ \t*&:]",
        r"[ \t]*(?:<[^<>]*>)?\((?:[^;]*\Z|[^;]*\{)",
    ),
    _compile_form(rf"^[ \t]*(?:(?:{_MODIFIERS})[ \t]+)*[*#]?", r"[ \t]*\([^;]*\{[ \t]*\Z"),
    _compile_form(r"(?:^|[^\w.])(?:impl|extension)[ \t]+[\w:<>,*&. \t]*"),
    _compile_form(r"^[ \t]*(?:export[ \t]+)?(?:[\w$]+[.:])*[\"']?", r"[\"']?[ \t]*(?::[^=]*)?(?::=|=(?!=)|\+=)"),
    _compile_form(r"^[ \t]*(?:[-*][ \t]+)?[\"'@:$]?", r"[\"']?[ \t]*:(?!:)"),
    _compile_form(r"^#{1,6}[ \t].*"),
)
_COMMENT: Final = re.compile(r"[ \t]*(?://|/\*|\*[ \t]|--[ \t]|#[ \t](?![ \t]*define\b))")
_LAST_PART: Final = re.compile(r"[A-Za-z_$][\w$]*\Z")
_FEW_WORDS: Final = 2
_MAX_OCCURRENCES: Final = 40
_MAX_LINE_LENGTH: Final = 400
