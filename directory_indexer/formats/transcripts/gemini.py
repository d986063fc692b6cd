"""Sessions of Gemini: `chats/session-*.json` in `~/.gemini/tmp/PROJECT`, since version 0.39 `.jsonl`; and `logs.json`.

A file of lines is a journal: a changed message is written again under its id, the list of messages may be replaced, and
messages are retracted. So a session is known only at its end, and of results only the size is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

from directory_indexer.formats.transcripts.events import Event, Role, SessionFacts, Turn
from directory_indexer.formats.transcripts.records import (
    MAX_RECORD_BYTES,
    Record,
    join_texts,
    n_bytes_of,
    objects_of,
    parse_json,
    records,
    records_at,
    text_at,
)
from directory_indexer.formats.transcripts.tool_calls import tool_call


def is_gemini(record: Record) -> bool:
    """Whether a file is a session of Gemini, by its first record."""
    if "sessionId" in record and "projectHash" in record:
        return True
    return isinstance(record.get("messageId"), int) and {"sessionId", "message", "type", "timestamp"} <= set(record)


def gemini_events(file: BinaryIO) -> Iterator[Event]:
    """Yield the events of a session: one object, a list of prompts, or a journal."""
    first = parse_json(file.readline(MAX_RECORD_BYTES))
    file.seek(0)
    if isinstance(first, dict) and "messages" not in first:
        yield from _replay(records(file))
        return
    value = parse_json(file.read(MAX_WHOLE_BYTES))
    if isinstance(value, dict):
        yield from _replay([value, {"$set": {"messages": value.get("messages")}}])
    yield from _prompts(objects_of(value))


def _replay(journal: Iterable[Record]) -> Iterator[Event]:
    messages: dict[str, list[Event]] = {}
    for record in journal:
        rewind_id = text_at(record, "$rewindTo")
        changes: Any = record.get("$set")
        if rewind_id:
            ids = list(messages)
            for message in ids[ids.index(rewind_id) if rewind_id in messages else 0 :]:
                del messages[message]
        elif isinstance(changes, dict):
            yield _session_facts(changes)
            if "messages" in changes:
                messages = {text_at(message, "id"): _events_of(message) for message in records_at(changes, "messages")}
        elif "id" in record:
            messages[text_at(record, "id")] = _events_of(record)
        else:
            yield _session_facts(record)
    for events in messages.values():
        yield from events


def _session_facts(record: Record) -> SessionFacts:
    return SessionFacts(text_at(record, "sessionId"), text_at(record, "summary"), time=text_at(record, "startTime"))


def _events_of(message: Record) -> list[Event]:
    time, role = text_at(message, "timestamp"), _ROLES.get(text_at(message, "type"))
    if role is None:
        return []
    events: list[Event] = []
    if text := join_texts(message.get("displayContent") or message.get("content"), ""):
        events.append(Turn(role, text, time))
    for tool_record in records_at(message, "toolCalls"):
        call = tool_call(
            text_at(tool_record, "name"), tool_record.get("args"), time=text_at(tool_record, "timestamp") or time
        )
        result = tool_record.get("result")
        events.append(call._replace(n_result_bytes=None if result is None else n_bytes_of(_tool_response(result))))
    return events


def _tool_response(result: object) -> object:
    """Return what a tool answered, without what the program reports about the call."""
    answers = [response.get("functionResponse") for response in objects_of(result)]
    contents = [response.get("response") for response in answers if isinstance(response, dict)]
    return contents or result


def _prompts(entries: Iterable[Record]) -> Iterator[Event]:
    for entry in entries:
        time = text_at(entry, "timestamp")
        yield SessionFacts(text_at(entry, "sessionId"), time=time)
        if entry.get("type") == "user" and (text := text_at(entry, "message")):
            yield Turn(Role.USER, text, time)


MAX_WHOLE_BYTES: Final = 256_000_000
_ROLES: Final = {"user": Role.USER, "gemini": Role.ASSISTANT}
