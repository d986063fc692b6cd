"""Entries in JSON with comments: inserted at the head of their object or list, so that nothing else changes.

The tokens are those of text that a parser has accepted; for other text the result is harmless but meaningless.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from directory_indexer.config.settings import parse_jsonc
from directory_indexer.integrations.assistants import (
    IN_LIST,
    EditRefusedError,
    Keys,
    RemovedEntry,
    StructuredFormat,
    line_end_of,
)

_BOM: Final = "\ufeff"
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*)?(?=\r?\n)")
_COMMENT_BEFORE = re.compile(r"//[^\n]*$")

_TOKEN = re.compile(r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|[{}\[\]:,]|[^\s{}\[\]:,"/]+""", re.DOTALL)
_OPENING, _CLOSING = frozenset("{["), frozenset("}]")


def tree_of(text: str) -> Any:
    """Parse a text; a blank one is an empty object.

    Raises:
        EditRefusedError: it is not JSON.
    """
    bare = text.removeprefix(_BOM)
    if not bare.strip():
        return {}
    try:
        return parse_jsonc(bare)
    except json.JSONDecodeError as error:
        raise EditRefusedError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise EditRefusedError("it is nested too deep") from None


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


class _Layout(NamedTuple):
    """Indentation and line ends of a file."""

    unit: str
    line_end: str


def _with(text: str, keys: Keys, value: object) -> str:
    bom = _BOM if text.startswith(_BOM) else ""
    bare = text.removeprefix(_BOM)
    return bom + (_inserted(bare, keys, value) if bare.strip() else _new(bare, keys, value))


def _without(text: str, cut: RemovedEntry) -> str:
    bom = _BOM if text.startswith(_BOM) else ""
    changed = _cut(text.removeprefix(_BOM), cut.keys, cut.value)
    for n_inner in range(1, cut.made + 1):
        if _is_empty_at(changed, cut.keys[:-n_inner]):
            changed = _cut(changed, cut.keys[:-n_inner], None)
    return bom + changed


def _nested(keys: Keys, value: object) -> object:
    for key in reversed(keys):
        value = [value] if key == IN_LIST else {key: value}
    return value


def _new(blank: str, keys: Keys, value: object) -> str:
    return json.dumps(_nested(keys, value), indent=2, ensure_ascii=False) + "\n" + blank


def _inserted(text: str, keys: Keys, value: object) -> str:
    tokens = tokens_of(text)
    opening, depth = _innermost(tokens, keys)
    name, content = keys[depth], _nested(keys[depth + 1 :], value)
    layout = _layout_of(text)
    members = list(members_of(tokens, opening))
    head = "" if name == IN_LIST else f"{json.dumps(name, ensure_ascii=False)}: "
    at = tokens[opening].end
    if members and "\n" not in text[at : tokens[members[0].first].start]:
        member = f"{head}{json.dumps(content, ensure_ascii=False)}, "
        return text[:at] + member + text[at:]
    outer = _indentation_at(text, tokens[opening].start)
    inner = _indentation_at(text, tokens[members[0].first].start) if members else outer + layout.unit
    lines = json.dumps(content, indent=layout.unit, ensure_ascii=False).split("\n")
    member = layout.line_end + inner + head + (layout.line_end + inner).join(lines) + ("," if members else "")
    rest = _REST_OF_LINE.match(text, at)
    if not members and not rest:
        member += layout.line_end + outer
    at = rest.end() if rest else at
    return text[:at] + member + text[at:]


def _innermost(tokens: Sequence[Token], keys: Keys) -> tuple[int, int]:
    """Return the opening token of the innermost existing container, and the number of keys that lead to it."""
    opening = 0
    for depth, key in enumerate(keys[:-1]):
        # Of members with the same name, parsers use the last.
        values = [member.value for member in members_of(tokens, opening) if member.name == key]
        if not values:
            return opening, depth
        opening = values[-1]
    return opening, len(keys) - 1


def _cut(text: str, keys: Keys, value: object) -> str:
    tokens = tokens_of(text)
    opening, _ = _innermost(tokens, keys)
    member = next(
        item
        for item in reversed(list(members_of(tokens, opening)))
        if (item.name == keys[-1] if keys[-1] != IN_LIST else _value_of(text, tokens, item.value, item.after) == value)
    )
    is_followed = tokens[member.after].text == ","
    start, end = tokens[member.first].start, tokens[member.after].end if is_followed else tokens[member.after - 1].end
    before = text[:start].rstrip()
    if not (_COMMENT_BEFORE.search(before) and text[end : end + 1] not in {"\n", "\r"}):
        start = len(before)
    comma = tokens[member.first - 1]
    if not is_followed and comma.text == ",":
        text, start, end = text[: comma.start] + text[comma.end :], start - 1, end - 1
    changed = text[:start] + text[end:]
    return _collapsed(changed, opening)


def _collapsed(text: str, opening: int) -> str:
    """Remove the white space in an empty container."""
    tokens = tokens_of(text)
    start, end = tokens[opening].end, tokens[closing_of(tokens, opening)].start
    return text[:start] + text[end:] if not text[start:end].strip() else text


def _is_empty_at(text: str, keys: Keys) -> bool:
    tokens = tokens_of(text)
    opening, _ = _innermost(tokens, (*keys, ""))
    return not list(members_of(tokens, opening))


def _value_of(text: str, tokens: Sequence[Token], first: int, after: int) -> object:
    return parse_jsonc(text[tokens[first].start : tokens[after - 1].end])


def _layout_of(text: str) -> _Layout:
    indented = re.search(r"\n([ \t]+)\"", text)
    return _Layout(indented[1] if indented else "  ", line_end_of(text))


def _indentation_at(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _after(tokens: Sequence[Token], index: int) -> int:
    depth = 0
    while True:
        text = tokens[index].text
        depth += (text in _OPENING) - (text in _CLOSING)
        index += 1
        if not depth:
            return index


JSON: Final = StructuredFormat(tree_of, insert=_with, cut=_without, initial_keys=frozenset({"version"}))
"""JSON, in which a new file has at most a `version`."""
