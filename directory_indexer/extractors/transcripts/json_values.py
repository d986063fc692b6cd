"""Untrusted JSON: read line by line within limits, with accessors that tolerate any type of value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, TypeAlias

Record: TypeAlias = dict[str, Any]

MAX_RECORD_BYTES: Final = 32_000_000
"""A longer line is skipped; no message is so long, but pictures and dumps may be."""


def records(file: BinaryIO) -> Iterator[Record]:
    """Yield the objects of a JSON Lines file; a line that is truncated or invalid is skipped."""
    while line := file.readline(MAX_RECORD_BYTES):
        if len(line) == MAX_RECORD_BYTES and not line.endswith(b"\n"):
            _skip_line(file)
        elif record := parse_record(line):
            yield record


def parse_record(content: bytes) -> Record:
    """Parse one object; an empty one if it is invalid."""
    value = parse_json(content)
    return value if isinstance(value, dict) else {}


def parse_json(content: bytes | str) -> object:
    """Parse JSON; None if it is invalid."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def record_at(record: Record, *names: str) -> Record:
    """Return the object at a path of names; an empty one if there is none."""
    for name in names:
        value = record.get(name)
        if not isinstance(value, dict):
            return {}
        record = value
    return record


def records_at(record: Record, name: str) -> list[Record]:
    """Return the objects in the list of this name."""
    return objects_of(record.get(name))


def objects_of(value: object) -> list[Record]:
    """Return the objects in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_at(record: Record, *names: str) -> str:
    """Return the first text under one of these names; "" if there is none."""
    return next((value for name in names if isinstance(value := record.get(name), str) and value), "")


def join_texts(content: object, *types: str) -> str:
    """Return the texts of a message, joined: it is a text, or a list of texts and of parts of one of these types.

    A part without a type counts, too.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    return "\n\n".join(filter(None, (_part_text(part, types) for part in content)))


def _part_text(part: object, types: tuple[str, ...]) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type", types[0] if types else "") in types:
        return text_at(part, "text")
    return ""


def n_bytes_of(value: object) -> int:
    """Return the number of bytes of all texts in a value, at any depth: the arguments or result of a tool."""
    n_bytes, pending = 0, [value]
    while pending:
        match pending.pop():
            case str() as text:
                n_bytes += len(text.encode("utf-8", "replace"))
            case list() as values:
                pending += values
            case dict() as record:
                pending += record.values()
            case bool() | int() | float() as number:
                n_bytes += len(str(number))
    return n_bytes


def _skip_line(file: BinaryIO) -> None:
    while (piece := file.readline(MAX_RECORD_BYTES)) and not piece.endswith(b"\n"):
        pass
