"""Colours of source code, as stretches of its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pygments.lexers import find_lexer_class_by_name
from pygments.token import Token
from pygments.util import ClassNotFound

from directory_indexer.previewing.requests import Colours

_STYLES: Final = (
    (Token.Comment, "comment"),
    (Token.Keyword, "keyword"),
    (Token.Operator.Word, "keyword"),
    (Token.Name.Function, "definition"),
    (Token.Name.Class, "definition"),
    (Token.Name.Tag, "keyword"),
    (Token.Name.Attribute, "definition"),
    (Token.Name.Decorator, "definition"),
    (Token.Literal, "literal"),
)
_LEXERS: Final = {"restructuredtext": "rst", "dotenv": "bash", "csharp": "c#", "jsonl": "json"}


def colours_of(text: str, kind: str) -> Colours:
    """Tell keywords, literals, comments and what is defined from the rest."""
    try:
        lexer = find_lexer_class_by_name(_LEXERS.get(kind, kind))()
    except ClassNotFound:
        return Colours(())
    return Colours(tuple(_joined(_stretches(lexer.get_tokens_unprocessed(text)))))


def _stretches(tokens: Iterator[tuple[int, object, str]]) -> Iterator[tuple[int, int, str]]:
    for start, token, text in tokens:
        style = next((style for of, style in _STYLES if token in of), None)
        if style is not None:
            yield start, start + len(text), style


def _joined(stretches: Iterator[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    before: tuple[int, int, str] | None = None
    for one in stretches:
        if before and before[1] == one[0] and before[2] == one[2]:
            before = (before[0], one[1], one[2])
            continue
        if before:
            yield before
        before = one
    if before:
        yield before
