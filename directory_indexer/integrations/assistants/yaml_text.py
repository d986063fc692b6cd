"""Entries in YAML as programs write it: a mapping of mappings in block style, read line by line.

Only the top two levels are read; what is below them stays as it is. Anything else at these levels is refused: other
documents, flow style, quoted keys, tabs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from directory_indexer.integrations.assistants import (
    UNSAFE_EDIT,
    EditRefusedError,
    Keys,
    RemovedEntry,
    StructuredFormat,
    line_end_of,
)

_UNIT: Final = "  "
_MEMBER: Final = re.compile(r"( *)([A-Za-z_][\w.-]*):(?: +(.*))?")
_QUOTED: Final = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')"""
_FLOW: Final = rf"""(?:[^\[\]{{}}"'#]|{_QUOTED})*"""
_COMPLETE: Final = re.compile(rf"""(?:{_QUOTED}|\[{_FLOW}\]|\{{{_FLOW}\}}|[^"'\[{{#].*)(?: +#.*)?""")
"""A value that ends on its line, or a block below it."""
_BLOCK_SCALAR: Final = re.compile(r"[|>][-+\d]*\s*(?:#.*)?$")


class _Member(NamedTuple):
    """A member of a mapping: its key, and its first line and the line after its last one, by number."""

    name: str
    value: str
    start: int
    end: int


def tree_of(text: str) -> Any:
    """Return the members of a text as mappings, and what is below them as lines.

    Raises:
        EditRefusedError: it is written otherwise.
    """
    lines = _lines_of(text)
    tree: dict[str, Any] = {}
    for member in _members(lines, 0, len(lines)):
        if member.name in tree:
            raise EditRefusedError(f"the key '{member.name}' is there more than once")
        tree[member.name] = _value(lines, member)
    return tree


def _value(lines: list[str], member: _Member) -> Any:
    inner = [line for line in lines[member.start + 1 : member.end] if _is_content(line)]
    if not inner or member.value:
        return {} if member.value == "{}" and not inner else "".join((member.value, *inner)).strip()
    try:
        members = list(_members(lines, member.start + 1, member.end))
    except EditRefusedError:
        return "".join(inner)
    contents = {item.name: _content(lines, item) for item in members}
    return contents if len(contents) == len(members) else "".join(inner)


def _content(lines: list[str], member: _Member) -> tuple[str, ...]:
    return (member.value, *(line.strip() for line in lines[member.start + 1 : member.end] if _is_content(line)))


def _members(lines: list[str], start: int, stop: int) -> Iterator[_Member]:
    """Yield the members of the mapping in some lines; comments and blank lines after a member are not part of it."""
    numbers = [number for number in range(start, stop) if _is_content(lines[number])]
    if start == 0 and numbers and lines[numbers[0]].rstrip() == "---":
        del numbers[0]
    indent = _indent(lines[numbers[0]]) if numbers else 0
    # The items of a list may be as far in as its key.
    heads = [i for i, number in enumerate(numbers) if not i or re.match(rf" {{0,{indent}}}(?!- | |-$)", lines[number])]
    for index, following in zip(heads, [*heads[1:], len(numbers)], strict=False):
        line = lines[numbers[index]].rstrip()
        match = _MEMBER.fullmatch(line)
        if line.startswith(("---", "...", "%")):
            raise EditRefusedError("it has several documents")
        if line.startswith("- "):
            raise EditRefusedError("the file is not an object")
        if not match or len(match[1]) != indent:
            raise EditRefusedError(UNSAFE_EDIT)
        yield _Member(match[2], _value_on_line(match[3] or ""), numbers[index], numbers[following - 1] + 1)
    if any("\t" in line[: len(line) - len(line.lstrip())] for line in lines):
        raise EditRefusedError(UNSAFE_EDIT)


def _value_on_line(written: str) -> str:
    """Return a value without a comment after it."""
    if not written or written.startswith("#"):
        return ""
    if not _COMPLETE.fullmatch(written):
        raise EditRefusedError(UNSAFE_EDIT)
    return re.sub(r" +#.*", "", written)


def _lines_of(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _prepare(tree: Any, keys: Keys) -> Any:
    """Return data in which a key without a value is an empty mapping."""
    return {**tree, keys[0]: {}} if tree.get(keys[0]) == "" else tree


def _normalise(value: object) -> object:
    return ("", *(line.strip() for line in _members_of(value, "")))


def _members_of(value: object, indent: str) -> list[str]:
    members = value if isinstance(value, Mapping) else {}
    return [f"{indent}{key}: {json.dumps(item, ensure_ascii=False)}" for key, item in members.items()]


def _located(text: str, keys: Keys) -> tuple[list[str], _Member | None, list[_Member]]:
    """Return the lines of a text with their ends, the outer member, and its members."""
    lines = _lines_of(text)
    outer = next((member for member in _members(lines, 0, len(lines)) if member.name == keys[0]), None)
    inner = list(_members(lines, outer.start + 1, outer.end)) if outer else []
    return lines, outer, inner


def _inserted(text: str, keys: Keys, value: object) -> str:
    lines, outer, inner = _located(text, keys)
    indent = " " * _indent(lines[inner[0].start]) if inner else _UNIT
    entry = [f"{indent}{keys[1]}:", *_members_of(value, indent + _UNIT)]
    at = outer.start + 1 if outer else len(lines)
    if outer and outer.value == "{}":
        lines[outer.start] = lines[outer.start].replace(" {}", "", 1)
    if at and not lines[at - 1].endswith("\n"):
        if any(map(_BLOCK_SCALAR.search, lines)):  # the line end would become a part of its text
            raise EditRefusedError(UNSAFE_EDIT)
        lines[at - 1] += line_end_of(text)
    added = [line + line_end_of(text) for line in ([] if outer else [f"{keys[0]}:"]) + entry]
    return "".join((*lines[:at], *added, *lines[at:]))


def _cut(text: str, cut: RemovedEntry) -> str:
    lines, outer, inner = _located(text, cut.keys)
    entry = next((member for member in inner if member.name == cut.keys[1]), None)
    if outer is None or entry is None:
        raise EditRefusedError(f"'{cut.keys[1]}' is not in it")
    if cut.keys[0] not in cut.left:
        return "".join((*lines[: outer.start], *lines[entry.end :]))
    if not cut.left[cut.keys[0]]:
        lines[outer.start] = lines[outer.start].replace(":", ": {}", 1)
    return "".join((*lines[: entry.start], *lines[entry.end :]))


YAML: Final = StructuredFormat(tree_of, insert=_inserted, cut=_cut, prepare=_prepare, normalise=_normalise)
