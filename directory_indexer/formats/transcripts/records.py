"""Records of session files: untrusted JSON, read line by line within limits, and turns without noise.

Accessors tolerate any type of value. Noise is context that programs add, pictures in Base64 and dumps of files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, TypeAlias

Record: TypeAlias = dict[str, Any]

MAX_RECORD_BYTES: Final = 32_000_000
"""A longer line is skipped; no message is so long, but pictures and dumps may be."""

_MAX_READ: Final = 1_000_000
_MAX_TURN: Final = 40_000
_KEPT_CHARACTERS: Final = 16_000
_LONG: Final = 300
_BLOB: Final = re.compile(r"(?:data:[\w/+.;=-]{1,80},)?(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{256,}+={0,2}")
_ADDED_TAGS: Final = (
    "system-reminder local-command-stdout local-command-stderr local-command-caveat bash-stdout bash-stderr "
    "command-name command-message user_instructions environment_context session_context ide_opened_file "
    "ide_selection INSTRUCTIONS turn_aborted subagent_notification task-notification persisted-output"
).split()
_ESCAPE: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_LINE_END: Final = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_CONTROLS: Final = re.compile("[\0-\x08\x0e-\x1f\x7f]")


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


def remove_noise(text: str) -> str:
    """Return the message in a turn, with only the beginning and the end of a very long one."""
    if len(text) > _MAX_READ:
        text = text[:_MAX_READ]
    text = _storable(text)
    for tag in _ADDED_TAGS:
        text = _without(text, f"<{tag}", f"</{tag}>")
    if len(text) > _LONG:
        text = _BLOB.sub("[…]", text)
    text = text.strip()
    return text if len(text) <= _MAX_TURN else f"{text[:_KEPT_CHARACTERS]}\n\n[…]\n\n{text[-_KEPT_CHARACTERS:]}"


def shorten(line: str, max_characters: int) -> str:
    """Cut a line to at most `most` characters, at the end of a word if possible."""
    if len(line) <= max_characters:
        return line
    cut = line[: max_characters - 1]
    return f"{cut[: cut.rfind(' ', max_characters // 2)] if ' ' in cut[max_characters // 2 :] else cut}…"


def _part_text(part: object, types: tuple[str, ...]) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type", types[0] if types else "") in types:
        return text_at(part, "text")
    return ""


def _skip_line(file: BinaryIO) -> None:
    while (piece := file.readline(MAX_RECORD_BYTES)) and not piece.endswith(b"\n"):
        pass


def _without(text: str, begin: str, end: str) -> str:
    """Remove every span between two marks; a mark without its end is part of the text."""
    pieces, position = [], 0
    while (start := text.find(begin, position)) >= 0 and (close := text.find(end, start)) >= 0:
        pieces.append(text[position:start])
        position = close + len(end)
    return "".join([*pieces, text[position:]])


def _storable(text: str) -> str:
    # JSON can spell halves of surrogate pairs, which no store takes, and the line ends of any system.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return _CONTROLS.sub(" ", _LINE_END.sub("\n", _ESCAPE.sub("", text)))
