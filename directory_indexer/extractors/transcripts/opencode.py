"""Sessions of OpenCode: as `opencode export` writes them, or the files of its storage until version 1.2.

There a session, a message and a part of a message are a file each, in `storage/session`, `message` and `part`. A text
of the assistant has a start and an end time; one of the user has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final

from directory_indexer.extractors.transcripts.calls import tool_call
from directory_indexer.extractors.transcripts.events import About, Event, Role, ToolCall, Turn
from directory_indexer.extractors.transcripts.json_values import (
    Record,
    n_bytes_of,
    parse_record,
    record_at,
    records_at,
    text_at,
)


def is_opencode(record: Record) -> bool:
    """Whether an object is a session, a message or a part of one, or an exported session."""
    info = record_at(record, "info")
    if text_at(info, "id").startswith("ses_"):
        return "messages" in record
    name = text_at(record, "id")
    if name.startswith("ses_"):
        return "projectID" in record or "directory" in record
    return name.startswith(("msg_", "prt_")) and text_at(record, "sessionID").startswith("ses_")


def opencode_events(file: BinaryIO) -> Iterator[Event]:
    """Yield the events of an exported session, or of one file of the storage."""
    record = parse_record(file.read(MAX_WHOLE_BYTES))
    if "messages" in record:
        yield _session_facts(record_at(record, "info"))
        for message in records_at(record, "messages"):
            yield from _message_events(message)
    elif "prt_" in text_at(record, "id")[:4]:
        yield About(text_at(record, "sessionID"))
        yield from _part_events(record, Role.ASSISTANT if "time" in record else Role.USER, _time(record, "start"))
    else:
        yield _session_facts(record)


def _session_facts(info: Record) -> About:
    is_session = text_at(info, "id").startswith("ses_")
    session_id = text_at(info, "id") if is_session else text_at(info, "sessionID")
    title = text_at(info, "title") if is_session else ""
    return About(session_id, title, text_at(info, "directory"), _time(info, "created"))


def _message_events(message: Record) -> Iterator[Event]:
    info = record_at(message, "info")
    role = Role.USER if info.get("role") == "user" else Role.ASSISTANT
    for part in records_at(message, "parts"):
        yield from _part_events(part, role, _time(part, "start") or _time(info, "created"))


def _part_events(part: Record, role: Role, time: str) -> Iterator[Turn | ToolCall]:
    kind = part.get("type")
    if kind == "text" and not part.get("synthetic") and not part.get("ignored") and (text := text_at(part, "text")):
        yield Turn(role, text, time)
    elif kind == "tool":
        state = record_at(part, "state")
        call = tool_call(text_at(part, "tool"), state.get("input"), time=_time(state, "start") or time)
        result = state.get("output", state.get("error"))
        yield call._replace(n_result_bytes=None if result is None else n_bytes_of(result))


def _time(record: Record, name: str) -> str:
    milliseconds = record_at(record, "time").get(name)
    if not isinstance(milliseconds, int | float):
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


MAX_WHOLE_BYTES: Final = 256_000_000
