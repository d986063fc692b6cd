"""Sessions of OpenCode: exported ones, the files of its storage until version 1.2, and its database since.

In the files a session, a message and a part of a message are a file each, in `storage/session`, `message` and `part`. A
text of the assistant has a start and an end time; one of the user has not. In the database each session is a member,
written as `opencode export` does.

What OpenCode has not checkpointed yet is read by a later run.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.containers import Budget, Contents, Member, read_whole
from directory_indexer.formats.database import open_database
from directory_indexer.formats.transcripts.events import Event, Role, SessionFacts, ToolCall, Turn
from directory_indexer.formats.transcripts.records import (
    Record,
    n_bytes_of,
    parse_json,
    parse_record,
    record_at,
    records_at,
    text_at,
)
from directory_indexer.formats.transcripts.tool_calls import tool_call


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
        yield SessionFacts(text_at(record, "sessionID"))
        yield from _part_events(record, Role.ASSISTANT if "time" in record else Role.USER, _time(record, "start"))
    else:
        yield _session_facts(record)


def _session_facts(info: Record) -> SessionFacts:
    is_session = text_at(info, "id").startswith("ses_")
    session_id = text_at(info, "id") if is_session else text_at(info, "sessionID")
    title = text_at(info, "title") if is_session else ""
    return SessionFacts(session_id, title, text_at(info, "directory"), _time(info, "created"))


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


def open_opencode_store(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a database; its sessions are members."""
    return Contents(None, _sessions(read_whole(file), budget))


def _sessions(content: bytes, budget: Budget) -> Iterator[Member]:
    with open_database(content) as connection:
        _require_tables(connection)
        for row in connection.execute("SELECT id, title, directory, time_created, time_updated FROM session"):
            yield _member(connection, *row, budget=budget)


def _require_tables(connection: sqlite3.Connection) -> None:
    """Raise unless the names are tables: a view may compute anything."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables >= _TABLES:
        raise ExtractionError("not a database of OpenCode")


def _member(  # noqa: PLR0913 - a row
    connection: sqlite3.Connection,
    name: object,
    title: object,
    directory: object,
    created: object,
    updated: object,
    *,
    budget: Budget,
) -> Member:
    budget.take_member()
    info = {"id": str(name), "title": str(title or ""), "directory": str(directory or ""), "time": {"created": created}}
    messages = [
        {"info": message, "parts": _parts(connection, key)} for key, message in _messages(connection, str(name))
    ]
    content = json.dumps({"info": info, "messages": messages}, ensure_ascii=False).encode("utf-8", "replace")
    budget.take(len(content))
    return Member(f"{name}.json", content, updated * 1_000_000 if isinstance(updated, int) else 0)


def _messages(connection: sqlite3.Connection, session: str) -> list[tuple[str, Record]]:
    rows = connection.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,))
    return [(str(name), value) for name, data in rows if isinstance(value := parse_json(str(data)), dict)]


def _parts(connection: sqlite3.Connection, message: str) -> list[Record]:
    rows = connection.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (message,))
    return [value for (data,) in rows if isinstance(value := parse_json(str(data)), dict)]


_TABLES: Final = frozenset({"session", "message", "part"})
