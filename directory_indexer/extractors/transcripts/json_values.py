"""JSON that others wrote: read line by line within bounds, and asked for values that may be anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, TypeAlias

Record: TypeAlias = dict[str, Any]

MAX_RECORD_BYTES: Final = 32_000_000
"""A longer line is passed over; what is said never is, but pictures and dumps may be."""


def records(file: BinaryIO) -> Iterator[Record]:
    """Read the objects of a file of JSON lines; a line that is cut off or none is passed over."""
    while line := file.readline(MAX_RECORD_BYTES):
        if len(line) == MAX_RECORD_BYTES and not line.endswith(b"\n"):
            _pass_over_line(file)
        elif record := parsed_record(line):
            yield record


def parsed_record(content: bytes) -> Record:
    """Parse one object; an empty one where it is none."""
    value = parsed(content)
    return value if isinstance(value, dict) else {}


def parsed(content: bytes | str) -> object:
    """Parse JSON; None where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def record_at(record: Record, *names: str) -> Record:
    """Give the object at a path of names; an empty one where there is none."""
    for name in names:
        value = record.get(name)
        if not isinstance(value, dict):
            return {}
        record = value
    return record


def records_at(record: Record, name: str) -> list[Record]:
    """Give the objects of the list by a name."""
    return objects_of(record.get(name))


def objects_of(value: object) -> list[Record]:
    """Give the objects in a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_at(record: Record, *names: str) -> str:
    """Give the first text by one of several names; "" where there is none."""
    return next((value for name in names if isinstance(value := record.get(name), str) and value), "")


def said(content: object, *types: str) -> str:
    """Join the texts of a message: it is a text, or a list of texts and of parts, of which those of some types count.

    A part without a type counts, too.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    return "\n\n".join(filter(None, (_text_of(part, types) for part in content)))


def _text_of(part: object, types: tuple[str, ...]) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type", types[0] if types else "") in types:
        return text_at(part, "text")
    return ""


def n_bytes_of(value: object) -> int:
    """Count the bytes of all texts in a value, at any depth: what a tool was called with, or gave."""
    n_bytes, rest = 0, [value]
    while rest:
        match rest.pop():
            case str() as text:
                n_bytes += len(text.encode("utf-8", "replace"))
            case list() as values:
                rest += values
            case dict() as record:
                rest += record.values()
            case bool() | int() | float() as number:
                n_bytes += len(str(number))
    return n_bytes


def _pass_over_line(file: BinaryIO) -> None:
    while (piece := file.readline(MAX_RECORD_BYTES)) and not piece.endswith(b"\n"):
        pass
