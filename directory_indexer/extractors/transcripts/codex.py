"""Sessions of Codex: a record a line, in `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

What is said is written in up to three ways, depending on the version: as an item of the model, as an event, and as a
completed item. Each of them counts how often it has said something, so that what all say comes once, and what the user
said twice comes twice. Before version 0.32 items of the model stood in the file as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from directory_indexer.extractors.transcripts.calls import WaitingCalls, tool_call
from directory_indexer.extractors.transcripts.events import About, Event, Role, Turn
from directory_indexer.extractors.transcripts.json_values import Record, record_at, records, said, text_at


def is_codex(record: Record) -> bool:
    """Tell by one of its first records whether a file is a session."""
    payload = record_at(record, "payload")
    if record.get("type") == "session_meta":
        return "id" in payload
    if record.get("type") in {"response_item", "event_msg"}:
        return "timestamp" in record and "type" in payload
    return _OLD_FIRST <= set(record) <= _OLD_FIRST | {"git"} and text_at(record, "id").count("-") == _UUID_HYPHENS


def codex_events(file: BinaryIO) -> Iterator[Event]:
    """Read a session."""
    waiting, heard = WaitingCalls(), _Heard()
    for record in records(file):
        time, kind = text_at(record, "timestamp"), text_at(record, "type")
        payload = record_at(record, "payload") if "payload" in record else record
        if kind in {"session_meta", "turn_context", ""}:
            yield _about(payload, time, is_first=kind != "turn_context")
        elif kind == "event_msg":
            yield from _event(payload, time, heard)
        else:
            yield from _item(payload, time, waiting, heard)
    yield from waiting.rest()


class _Heard:
    """What was said already, by whom, and how often each way of writing has said it."""

    def __init__(self) -> None:
        self._by_way: Counter[tuple[str, int]] = Counter()
        self._most: Counter[int] = Counter()

    def turn(self, way: str, role: Role, text: str, time: str) -> Iterator[Turn]:
        text = _own_words(text) if role is Role.USER else text
        if not text.strip():
            return
        key = hash((role, text.strip()))
        self._by_way[way, key] += 1
        if self._by_way[way, key] > self._most[key]:
            self._most[key] += 1
            yield Turn(role, text, time)


def _about(payload: Record, time: str, *, is_first: bool) -> About:
    return About(text_at(payload, "id") if is_first else "", "", text_at(payload, "cwd"), time)


def _event(payload: Record, time: str, heard: _Heard) -> Iterator[Event]:
    kind = text_at(payload, "type")
    if kind == "thread_name_updated":
        yield About(title=text_at(payload, "thread_name"), time=time)
    elif kind == "item_completed":
        item = record_at(payload, "item")
        if role := _COMPLETED.get(text_at(item, "type").lower()):
            yield from heard.turn("completed", role, said(item.get("content"), *_TEXTS) or text_at(item, "text"), time)
    elif role := _EVENTS.get(kind):
        yield from heard.turn("event", role, text_at(payload, "message"), time)


def _item(item: Record, time: str, waiting: WaitingCalls, heard: _Heard) -> Iterator[Event]:
    kind, call_id = text_at(item, "type"), text_at(item, "call_id", "id")
    if kind == "message" and item.get("role") in {"user", "assistant"}:
        yield from heard.turn("item", Role(item["role"]), said(item.get("content"), *_TEXTS), time)
    elif kind in _CALLS:
        arguments = item.get("arguments", item.get("input", item.get("action")))
        yield from waiting.begin(call_id, tool_call(text_at(item, "name") or kind, arguments, time=time))
    elif kind.endswith("_call_output"):
        yield from waiting.finish(call_id, item.get("output"))


def _own_words(text: str) -> str:
    """Take what the user wrote from a message: editors put it below a heading, and programs write messages as well."""
    text = text.lstrip()
    _, mark, request = text.partition(_REQUEST)
    if mark:
        return request
    return "" if text.startswith(_INJECTED) else text


_OLD_FIRST = frozenset({"id", "timestamp", "instructions"})
_UUID_HYPHENS = 4
_REQUEST = "## My request for Codex:"
_INJECTED = ("# AGENTS.md", "<user_instructions>", "<environment_context>", "<INSTRUCTIONS>", "<permissions", "<skill>")
_TEXTS = ("text", "input_text", "output_text", "Text")
_EVENTS = {"user_message": Role.USER, "agent_message": Role.ASSISTANT}
_COMPLETED = {"usermessage": Role.USER, "agentmessage": Role.ASSISTANT}
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"})
