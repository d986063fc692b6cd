"""Colours of source code, for terminals alone: Pygments is imported where one shows some, and knows the languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.lazy import lazily
from directory_indexer.render.spans import Style
from directory_indexer.render.windows import Stretch

with lazily:
    from pygments.lexers import find_lexer_class_by_name
    from pygments.token import Token
    from pygments.util import ClassNotFound


_MOST_CHARACTERS: Final = 20_000
"""Languages are recognised by patterns, some of which take long for what is no language."""


def colours_of(text: str, kind: str) -> list[Stretch]:
    """Tell keywords, literals, comments and what is defined from the rest of a passage; of prose, nothing."""
    if kind not in GROUPS["code"] or len(text) > _MOST_CHARACTERS:
        return []
    try:
        lexer = find_lexer_class_by_name(kind)()
    except ClassNotFound:
        return []
    return list(_stretches(lexer.get_tokens_unprocessed(text)))


def _stretches(tokens: Iterator[tuple[int, object, str]]) -> Iterator[Stretch]:
    styles = {
        Token.Keyword: Style.KEYWORD,
        Token.Literal: Style.LITERAL,
        Token.Comment: Style.NOTE,
        Token.Name.Function: Style.DEFINITION,
        Token.Name.Class: Style.DEFINITION,
    }
    for start, token, text in tokens:
        style = next((style for of, style in styles.items() if token in of), None)
        if style is not None:
            yield Stretch(start, start + len(text), style)
