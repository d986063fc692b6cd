"""Syntax highlighting; the only module that imports Pygments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pygments.lexers import find_lexer_class_by_name
from pygments.token import Token
from pygments.util import ClassNotFound

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


def colours_of(text: str, kind: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and style of keywords, literals, comments and definitions."""
    try:
        lexer = find_lexer_class_by_name(_LEXERS.get(kind, kind))()
    except ClassNotFound:
        return
    yield from _joined(_ranges(lexer.get_tokens_unprocessed(text)))


def _ranges(tokens: Iterator[tuple[int, object, str]]) -> Iterator[tuple[int, int, str]]:
    for start, token, text in tokens:
        style = next((style for of, style in _STYLES if token in of), None)
        if style is not None:
            yield start, start + len(text), style


def _joined(stretches: Iterator[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    before: tuple[int, int, str] | None = None
    for stretch in stretches:
        if before and before[1] == stretch[0] and before[2] == stretch[2]:
            before = (before[0], stretch[1], stretch[2])
            continue
        if before:
            yield before
        before = stretch
    if before:
        yield before
