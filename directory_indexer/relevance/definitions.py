"""Where a passage defines what a query names, told by the form of the line, whatever the language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from directory_indexer.relevance.query import Query


def names_in(query: Query) -> tuple[str, ...]:
    """Give what a query may name: identifiers, and the words of a query that has one or two."""
    is_short = len(query.words) <= _FEW_WORDS
    words = (word for word in query.words if (word.is_name or is_short) and not word.text.startswith(("-", "#")))
    texts = (word.text.removesuffix("()") for word in words)
    parts = (_LAST_PART.search(text) for text in texts)
    return tuple(dict.fromkeys(part[0] for part in parts if part))


def definition_of(names: Sequence[str], text: str) -> int | None:
    """Give the character at which the definition of a name stands in a text; None where none is defined."""
    found = surest_definition(names, text)
    return found.at if found else None


class DefinitionAt(NamedTuple):
    """A definition: how sure its form is, 0 being that of a keyword such as `class` or `def`, and where it stands."""

    form: int
    at: int


def surest_definition(names: Sequence[str], text: str) -> DefinitionAt | None:
    """Give the first definition of the surest form; None where none of the names is defined."""
    found = [one for name in names if name in text for one in _definitions(name, text)]
    return min(found) if found else None


class _Form(NamedTuple):
    """A form of definition: what stands before the name in its line, and what behind it."""

    before: re.Pattern[str]
    behind: re.Pattern[str]


def _definitions(name: str, text: str) -> Iterator[DefinitionAt]:
    named = re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)
    for found in islice(named, _MOST_PLACES):
        start, end = found.span()
        line_end = text.find("\n", end)
        before = text[text.rfind("\n", 0, start) + 1 : start]
        behind = text[end : len(text) if line_end < 0 else line_end]
        if len(before) + len(behind) > _LONGEST_LINE or _COMMENT.match(before):
            continue
        if _AFTER_STRUCT.search(before) and _ONLY_USED.match(behind):
            continue
        ranks = (rank for rank, form in enumerate(_FORMS) if form.before.search(before) and form.behind.match(behind))
        if (rank := next(ranks, None)) is not None:
            yield DefinitionAt(rank, start)


def _form(before: str, behind: str = "") -> _Form:
    return _Form(re.compile(before + r"\Z"), re.compile(behind))


_KEYWORDS: Final = (
    "class|struct|enum|union|trait|interface|protocol|record|object|module|namespace|package|mixin|"
    "def|defp|defmodule|defmacro|defmacrop|defprotocol|defguard|fn|fun|func|function|sub|proc|macro_rules!|macro|"
    "type|typedef|newtype|data|typealias"
)
_BINDINGS: Final = "const|let|var|val|static|local|my|our|define|constexpr"
_BASES: Final = r":[ \t]|\b(?:extends|implements)\b"
"""What stands before the names that a definition builds on."""

_AFTER_STRUCT: Final = re.compile(r"\b(?:struct|union|enum)\b[\w:<>,*&. \t#]*\Z")
_ONLY_USED: Final = re.compile(r"[ \t]*(?:[*&),]|[ \t]\w+[ \t]*[;=,)\[])")
"""What follows the name of a structure in C that is not defined there: a pointer, a variable, the end of a cast."""

_NO_TYPES: Final = (
    "return|throw|await|yield|new|else|delete|goto|case|in|not|and|or|if|while|for|raise|assert|import|from|with|use"
)
_MODIFIERS: Final = "async|static|get|set|public|private|protected|override|export|default"
_FORMS: Final = (
    _form(rf"(?:^|[^\w.])(?:{_KEYWORDS})[ \t*]+(?:\([^()]*\)[ \t]*)?(?:(?!{_BASES})[\w:<>,*&. \t#])*"),
    _form(rf"^[ \t]*(?:#[ \t]*)?(?:\w+[ \t]+)*?(?:{_BINDINGS})[ \t]+[\w:<>,*&.\[\] \t]*"),
    _form(
        rf"^[ \t]*(?!(?:{_NO_TYPES})\b)[\w~@][\w:<>,*&.\[\]?~@ \t]*[ \t*&:]",
        r"[ \t]*(?:<[^<>]*>)?\((?:[^;]*\Z|[^;]*\{)",
    ),
    _form(rf"^[ \t]*(?:(?:{_MODIFIERS})[ \t]+)*[*#]?", r"[ \t]*\([^;]*\{[ \t]*\Z"),
    _form(r"(?:^|[^\w.])(?:impl|extension)[ \t]+[\w:<>,*&. \t]*"),
    _form(r"^[ \t]*(?:export[ \t]+)?(?:[\w$]+[.:])*[\"']?", r"[\"']?[ \t]*(?::[^=]*)?(?::=|=(?!=)|\+=)"),
    _form(r"^[ \t]*(?:[-*][ \t]+)?[\"'@:$]?", r"[\"']?[ \t]*:(?!:)"),
    _form(r"^#{1,6}[ \t].*"),
)
_COMMENT: Final = re.compile(r"[ \t]*(?://|/\*|\*[ \t]|--[ \t]|#[ \t](?![ \t]*define\b))")
_LAST_PART: Final = re.compile(r"[A-Za-z_$][\w$]*\Z")
_FEW_WORDS: Final = 2
_MOST_PLACES: Final = 40
_LONGEST_LINE: Final = 400
