"""Tokens of JSON with comments, and the members of its objects and lists.

For text that a parser has accepted; for other text the result is harmless but meaningless.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_TOKEN = re.compile(r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|[{}\[\]:,]|[^\s{}\[\]:,"/]+""", re.DOTALL)
_OPENING, _CLOSING = frozenset("{["), frozenset("}]")


class Token(NamedTuple):
    """A string, a number, a word or a punctuator, with its start and end offsets."""

    text: str
    start: int
    end: int


class Member(NamedTuple):
    """A member of an object or a list, by the indexes of its tokens; `name` is empty in a list."""

    name: str
    first: int
    value: int
    after: int


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text, without blanks and comments."""
    return [Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text) if match["blank"] is None]


def members_of(tokens: Sequence[Token], opening: int) -> Iterator[Member]:
    """Yield the members of the object or list that opens at a token."""
    is_object = tokens[opening].text == "{"
    index = opening + 1
    while tokens[index].text not in _CLOSING:
        value = index + 2 if is_object else index
        after = _after(tokens, value)
        yield Member(json.loads(tokens[index].text) if is_object else "", index, value, after)
        index = after + (tokens[after].text == ",")


def closing_of(tokens: Sequence[Token], opening: int) -> int:
    """Return the index of the matching closing token."""
    return _after(tokens, opening) - 1


def _after(tokens: Sequence[Token], index: int) -> int:
    depth = 0
    while True:
        text = tokens[index].text
        depth += (text in _OPENING) - (text in _CLOSING)
        index += 1
        if not depth:
            return index
