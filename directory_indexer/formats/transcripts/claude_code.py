"""Sessions of Claude Code: a record a line, in `~/.claude/projects/DIRECTORY/SESSION.jsonl` and beside it.

A message comes in several records, one for each part of it, and a resumed session repeats records. Results of tools
come as messages of the user.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from directory_indexer.formats.transcripts.events import Event, Role, SessionFacts, Turn
from directory_indexer.formats.transcripts.records import Record, join_texts, objects_of, record_at, records, text_at
from directory_indexer.formats.transcripts.tool_calls import WaitingCalls, tool_call


def is_claude_code(record: Record) -> bool:
    """Whether a file is a session of Claude Code, by one of its first records."""
    if "isSidechain" in record and "sessionId" in record and record.get("type") in _SPOKEN | {"system", "attachment"}:
        return "parentUuid" in record or "message" in record
    kind = record.get("type")
    return any(kind == record_type and all(name in record for name in names) for record_type, names in _ASIDES)


def claude_code_events(file: BinaryIO) -> Iterator[Event]:
    """Yield the events of a session."""
    waiting, seen_hashes = WaitingCalls(), set[int]()
    for record in records(file):
        if _is_repeated(record, seen_hashes):
            continue
        yield from _session_facts(record)
        if record.get("type") in _SPOKEN and not record.get("isMeta") and not record.get("isCompactSummary"):
            yield from _message_events(record, waiting)
    yield from waiting.rest()


def _is_repeated(record: Record, seen_hashes: set[int]) -> bool:
    name = text_at(record, "uuid")
    if not name:
        return False
    is_repeated = hash(name) in seen_hashes
    seen_hashes.add(hash(name))
    return is_repeated


def _session_facts(record: Record) -> Iterator[SessionFacts]:
    about = SessionFacts(
        text_at(record, "sessionId"),
        text_at(record, *_TITLES) if record.get("type") in _TITLED else "",
        text_at(record, "cwd"),
        text_at(record, "timestamp"),
    )
    if any(about):
        yield about


def _message_events(record: Record, waiting: WaitingCalls) -> Iterator[Event]:
    content = record_at(record, "message").get("content")
    time, is_aside = text_at(record, "timestamp"), record.get("isSidechain") is True
    if text := join_texts(content, "text"):
        yield Turn(Role(record["type"]), text, time, is_aside)
    for part in objects_of(content):
        if part.get("type") == "tool_use":
            call = tool_call(text_at(part, "name"), part.get("input"), time=time, is_aside=is_aside)
            yield from waiting.begin(text_at(part, "id"), call)
        elif part.get("type") == "tool_result":
            yield from waiting.finish(text_at(part, "tool_use_id"), _without_pictures(part.get("content")))


def _without_pictures(content: object) -> object:
    """Return the result of a tool without pictures: their bytes say nothing about what they cost."""
    return [part for part in content if not _is_picture(part)] if isinstance(content, list) else content


def _is_picture(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "image"


_SPOKEN = frozenset({"user", "assistant"})
_TITLED = frozenset({"summary", "custom-title", "ai-title"})
_TITLES = ("customTitle", "aiTitle", "title", "summary")
_ASIDES = (
    ("summary", ("summary", "leafUuid")),
    ("file-history-snapshot", ("messageId", "snapshot")),
    ("queue-operation", ("operation", "sessionId")),
    ("permission-mode", ("permissionMode", "sessionId")),
    ("custom-title", ("customTitle", "sessionId")),
    ("ai-title", ("aiTitle", "sessionId")),
    ("last-prompt", ("lastPrompt", "sessionId")),
    ("agent-setting", ("agentSetting", "sessionId")),
)
"""Records that may precede the first message."""
