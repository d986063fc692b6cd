"""Sessions of Codex: a record a line, in `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

A turn is recorded in up to three ways, depending on the version: as a response item, as an event, and as a completed
item. Each way counts its occurrences of a text, so that a turn recorded in all ways appears once, and a turn that the
user repeated appears twice. Before version 0.32 response items were the records themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from directory_indexer.formats.transcripts.events import Event, Role, SessionFacts, Turn
from directory_indexer.formats.transcripts.records import Record, join_texts, record_at, records, text_at
from directory_indexer.formats.transcripts.tool_calls import WaitingCalls, tool_call


def is_codex(record: Record) -> bool:
    """Whether a file is a session of Codex, by one of its first records."""
    payload = record_at(record, "payload")
    if record.get("type") == "session_meta":
        return "id" in payload
    if record.get("type") in {"response_item", "event_msg"}:
        return "timestamp" in record and "type" in payload
    return _OLD_FIRST <= set(record) <= _OLD_FIRST | {"git"} and text_at(record, "id").count("-") == _UUID_HYPHENS


def codex_events(file: BinaryIO) -> Iterator[Event]:
    """Yield the events of a session."""
    waiting, turns = WaitingCalls(), _Turns()
    for record in records(file):
        time, kind = text_at(record, "timestamp"), text_at(record, "type")
        payload = record_at(record, "payload") if "payload" in record else record
        if kind in {"session_meta", "turn_context", ""}:
            yield _session_facts(payload, time, is_first=kind != "turn_context")
        elif kind == "event_msg":
            yield from _event_record(payload, time, turns)
        else:
            yield from _item_record(payload, time, waiting, turns)
    yield from waiting.rest()


class _Turns:
    """Turns that were yielded, with how often each way of recording has repeated them."""

    def __init__(self) -> None:
        self._by_way: Counter[tuple[str, int]] = Counter()
        self._most: Counter[int] = Counter()

    def turn(self, way: str, role: Role, text: str, time: str) -> Iterator[Turn]:
        text = _user_text(text) if role is Role.USER else text
        if not text.strip():
            return
        key = hash((role, text.strip()))
        self._by_way[way, key] += 1
        if self._by_way[way, key] > self._most[key]:
            self._most[key] += 1
            yield Turn(role, text, time)


def _session_facts(payload: Record, time: str, *, is_first: bool) -> SessionFacts:
    return SessionFacts(text_at(payload, "id") if is_first else "", "", text_at(payload, "cwd"), time)


def _event_record(payload: Record, time: str, turns: _Turns) -> Iterator[Event]:
    kind = text_at(payload, "type")
    if kind == "thread_name_updated":
        yield SessionFacts(title=text_at(payload, "thread_name"), time=time)
    elif kind == "item_completed":
        item = record_at(payload, "item")
        if role := _COMPLETED.get(text_at(item, "type").lower()):
            yield from turns.turn(
                "completed", role, join_texts(item.get("content"), *_TEXTS) or text_at(item, "text"), time
            )
    elif role := _EVENTS.get(kind):
        yield from turns.turn("event", role, text_at(payload, "message"), time)


def _item_record(item: Record, time: str, waiting: WaitingCalls, turns: _Turns) -> Iterator[Event]:
    kind, call_id = text_at(item, "type"), text_at(item, "call_id", "id")
    if kind == "message" and item.get("role") in {"user", "assistant"}:
        yield from turns.turn("item", Role(item["role"]), join_texts(item.get("content"), *_TEXTS), time)
    elif kind in _CALLS:
        arguments = item.get("arguments", item.get("input", item.get("action")))
        yield from waiting.begin(call_id, tool_call(text_at(item, "name") or kind, arguments, time=time))
    elif kind.endswith("_call_output"):
        yield from waiting.finish(call_id, item.get("output"))


def _user_text(text: str) -> str:
    """Return what the user wrote: editors put it below a heading, and programs inject messages of their own."""
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
