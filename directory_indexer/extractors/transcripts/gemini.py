"""Sessions of Gemini: `chats/session-*.json` in `~/.gemini/tmp/PROJECT`, since version 0.39 `.jsonl`; and `logs.json`.

A file of lines is a journal: a message that changes is written again under its id, lists of messages may be set as a
whole, and messages are taken back. So a session is known at its end, and what it holds of results is their size alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

from directory_indexer.extractors.transcripts.calls import tool_call
from directory_indexer.extractors.transcripts.events import About, Event, Role, Turn
from directory_indexer.extractors.transcripts.json_values import (
    MAX_RECORD_BYTES,
    Record,
    n_bytes_of,
    objects_of,
    parsed,
    records,
    records_at,
    said,
    text_at,
)


def is_gemini(record: Record) -> bool:
    """Tell by its first record whether a file is a session."""
    if "sessionId" in record and "projectHash" in record:
        return True
    return isinstance(record.get("messageId"), int) and {"sessionId", "message", "type", "timestamp"} <= set(record)


def gemini_events(file: BinaryIO) -> Iterator[Event]:
    """Read a session: one object, a list of prompts, or a journal."""
    first = parsed(file.readline(MAX_RECORD_BYTES))
    file.seek(0)
    if isinstance(first, dict) and "messages" not in first:
        yield from _replayed(records(file))
        return
    value = parsed(file.read(MAX_WHOLE_BYTES))
    if isinstance(value, dict):
        yield from _replayed([value, {"$set": {"messages": value.get("messages")}}])
    yield from _prompts(objects_of(value))


def _replayed(journal: Iterable[Record]) -> Iterator[Event]:
    messages: dict[str, list[Event]] = {}
    for record in journal:
        taken_back = text_at(record, "$rewindTo")
        changes: Any = record.get("$set")
        if taken_back:
            ids = list(messages)
            for one in ids[ids.index(taken_back) if taken_back in messages else 0 :]:
                del messages[one]
        elif isinstance(changes, dict):
            yield _about(changes)
            if "messages" in changes:
                messages = {text_at(one, "id"): _events_of(one) for one in records_at(changes, "messages")}
        elif "id" in record:
            messages[text_at(record, "id")] = _events_of(record)
        else:
            yield _about(record)
    for events in messages.values():
        yield from events


def _about(record: Record) -> About:
    return About(text_at(record, "sessionId"), text_at(record, "summary"), time=text_at(record, "startTime"))


def _events_of(message: Record) -> list[Event]:
    time, role = text_at(message, "timestamp"), _ROLES.get(text_at(message, "type"))
    if role is None:
        return []
    events: list[Event] = []
    if text := said(message.get("displayContent") or message.get("content"), ""):
        events.append(Turn(role, text, time))
    for one in records_at(message, "toolCalls"):
        call = tool_call(text_at(one, "name"), one.get("args"), time=text_at(one, "timestamp") or time)
        result = one.get("result")
        events.append(call._replace(n_result_bytes=None if result is None else n_bytes_of(_given(result))))
    return events


def _given(result: object) -> object:
    """Take what a tool answered, without what the program says about the call."""
    answers = [one.get("functionResponse") for one in objects_of(result)]
    found = [one.get("response") for one in answers if isinstance(one, dict)]
    return found or result


def _prompts(entries: Iterable[Record]) -> Iterator[Event]:
    for entry in entries:
        time = text_at(entry, "timestamp")
        yield About(text_at(entry, "sessionId"), time=time)
        if entry.get("type") == "user" and (text := text_at(entry, "message")):
            yield Turn(Role.USER, text, time)


MAX_WHOLE_BYTES: Final = 256_000_000
_ROLES: Final = {"user": Role.USER, "gemini": Role.ASSISTANT}
