"""Sessions of four assistants, written as they write them: by their sources and by what others found in their files."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

Said = tuple[str, str]
"""Who speaks and what: `user`, `assistant`, `tool` (a call: its name, a tab, and what it is called with), `result`."""

DUMP = "\n".join(
    f"{number:6}\tdef helper_{number}(value): return value * {number}  # zanzibar" for number in range(400)
)
"""What a tool gives when it reads a file; nobody has said any of it."""

BASE64 = "iVBORw0KGgo" + "QUJDREVGR0hJSktMTU5PUA" * 200
THINKING = "Hmm, the hidden ruminations about quokkas should never be found."


def claude_code(turns: Sequence[Said], *, session: str, day: str, directory: str = "/home/ann/shop") -> bytes:
    """Write a session of Claude Code: a snapshot, records of one part each, a summary."""
    records: list[dict[str, Any]] = [
        {
            "type": "file-history-snapshot",
            "messageId": "m0",
            "snapshot": {"trackedFileBackups": {}},
            "isSnapshotUpdate": False,
        }
    ]
    parent: str | None = None
    for number, (role, text) in enumerate(turns):
        common = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": directory,
            "sessionId": session,
            "version": "2.1.30",
            "gitBranch": "main",
        }
        parent = f"{session}-{number}"
        stamp = {"uuid": parent, "timestamp": _clock(day, number)}
        match role:
            case "user":
                content: Any = [{"type": "text", "text": text}] if number else text
                record = {"type": "user", "message": {"role": "user", "content": content}}
            case "assistant":
                record = _spoken_by_claude({"type": "text", "text": text}, number)
            case "tool":
                name, argument = text.split("\t")
                block = {
                    "type": "tool_use",
                    "id": f"toolu_{number}",
                    "name": name,
                    "input": _claude_input(name, argument),
                }
                record = _spoken_by_claude(block, number)
            case _:
                block = {"tool_use_id": f"toolu_{number - 1}", "type": "tool_result", "content": text}
                record = {
                    "type": "user",
                    "message": {"role": "user", "content": [block]},
                    "toolUseResult": {"stdout": text, "stderr": ""},
                }
        records.append({**common, **record, **stamp})
    thinking = {"type": "thinking", "thinking": THINKING, "signature": BASE64}
    records.insert(2, {**records[1], **_spoken_by_claude(thinking, 0), "uuid": f"{session}-t"})
    records.insert(
        2,
        {
            **records[1],
            "isMeta": True,
            "uuid": f"{session}-m",
            "message": {"role": "user", "content": "Caveat: quokkas"},
        },
    )
    return _lines(records)


def _spoken_by_claude(block: dict[str, Any], number: int) -> dict[str, Any]:
    message = {
        "model": "claude-opus-4-6",
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": [block],
    }
    return {
        "type": "assistant",
        "message": {**message, "usage": {"input_tokens": 9, "output_tokens": 9}},
        "requestId": "req_1",
    }


def _claude_input(name: str, argument: str) -> dict[str, Any]:
    return {"Bash": {"command": argument}, "Read": {"file_path": argument}}.get(name, {"pattern": argument})


def codex(
    turns: Sequence[Said], *, session: str, day: str, directory: str = "/home/ann/api", is_doubled: bool = True
) -> bytes:
    """Write a session of Codex: items of the model and, in most versions, events that say the same."""
    instructions = "You are a coding agent. " * 500
    meta = {
        "id": session,
        "timestamp": _clock(day, 0),
        "cwd": directory,
        "originator": "codex_cli_rs",
        "cli_version": "0.114.0",
    }
    records = [_rollout(day, 0, "session_meta", {**meta, "base_instructions": {"text": instructions}, "source": "cli"})]
    context = f"<environment_context>\n  <cwd>{directory}</cwd>\n  <shell>zsh quokkas</shell>\n</environment_context>"
    records.append(_rollout(day, 0, "response_item", _codex_message("user", context)))
    records.append(
        _rollout(day, 0, "turn_context", {"cwd": directory, "approval_policy": "never", "model": "gpt-5.3-codex"})
    )
    for number, (role, text) in enumerate(turns):
        match role:
            case "user" | "assistant":
                item = _codex_message(role, text)
                event = {"type": "user_message" if role == "user" else "agent_message", "message": text}
            case "tool":
                name, argument = text.split("\t")
                item = {
                    "type": "function_call",
                    "name": name,
                    "arguments": json.dumps({"cmd": argument}),
                    "call_id": f"call_{number}",
                }
                event = {"type": "token_count"}
            case _:
                item = {"type": "function_call_output", "call_id": f"call_{number - 1}", "output": text}
                event = {"type": "exec_command_end", "call_id": f"call_{number - 1}", "aggregated_output": text}
        records.append(_rollout(day, number, "response_item", item))
        if is_doubled:
            records.append(_rollout(day, number, "event_msg", event))
    reasoning = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": THINKING}],
        "encrypted_content": BASE64,
    }
    records.insert(4, _rollout(day, 1, "response_item", reasoning))
    return _lines(records)


def compressed(content: bytes) -> bytes:
    """Compress a session as Codex does with old ones."""
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    packed: bytes = zstd.compress(content)
    return packed


def _rollout(day: str, number: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": _clock(day, number), "type": kind, "payload": payload}


def _codex_message(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def gemini(turns: Sequence[Said], *, session: str, day: str) -> bytes:
    """Write a session of Gemini as it was written until version 0.38: one object."""
    facts = {
        "sessionId": session,
        "projectHash": "7f" * 32,
        "startTime": _clock(day, 0),
        "lastUpdated": _clock(day, 99),
    }
    return json.dumps({**facts, "messages": list(_gemini_messages(turns, day))}, indent=2).encode()


def gemini_journal(turns: Sequence[Said], *, session: str, day: str) -> bytes:
    """Write a session of Gemini as it is written since: a journal, in which a prompt was taken back."""
    facts = {"sessionId": session, "projectHash": "7f" * 32, "startTime": _clock(day, 0), "kind": "main"}
    context = {
        "id": "c0",
        "timestamp": _clock(day, 0),
        "type": "user",
        "content": [{"text": f"<session_context>{DUMP}</session_context>"}],
    }
    taken_back = {
        "id": "x1",
        "timestamp": _clock(day, 0),
        "type": "user",
        "content": [{"text": "Never mind the quokkas"}],
    }
    records: list[dict[str, Any]] = [facts, {"$set": {"messages": [context]}}, taken_back, {"$rewindTo": "x1"}]
    for message in _gemini_messages(turns, day):
        records += [{**message, "toolCalls": []}, message] if message.get("toolCalls") else [message]
        records.append({"$set": {"lastUpdated": message["timestamp"]}})
    return _lines(records)


def _gemini_messages(turns: Sequence[Said], day: str) -> Iterable[dict[str, Any]]:
    message: dict[str, Any] = {}
    for number, (role, text) in enumerate(turns):
        if role in {"user", "assistant"}:
            if message:
                yield message
            kind = "user" if role == "user" else "gemini"
            message = {
                "id": f"id-{number}",
                "timestamp": _clock(day, number),
                "type": kind,
                "content": [{"text": text}],
            }
            if kind == "gemini":
                thought = {"subject": "Pondering", "description": THINKING, "timestamp": _clock(day, number)}
                message |= {"content": text, "thoughts": [thought], "model": "gemini-3-pro", "toolCalls": []}
        elif role == "tool":
            name, argument = text.split("\t")
            call = {"id": f"{name}-{number}", "name": name, "args": {"pattern": argument}, "status": "success"}
            message["toolCalls"].append({**call, "timestamp": _clock(day, number), "displayName": name})
        else:
            response = {"functionResponse": {"id": "x", "name": "x", "response": {"output": text}}}
            message["toolCalls"][-1] |= {"result": [response], "resultDisplay": text}
    yield message


class OpenCodeSession(NamedTuple):
    """A session of OpenCode in its parts."""

    info: dict[str, Any]
    messages: list[tuple[dict[str, Any], list[dict[str, Any]]]]


def opencode(turns: Sequence[Said], *, session: str, day: str, title: str) -> OpenCodeSession:
    """Make a session of OpenCode."""
    info: dict[str, Any] = {
        "id": session,
        "version": "1.2.24",
        "projectID": "global",
        "directory": "/home/ann/site",
        "title": title,
    }
    info["time"] = {"created": _millis(day, 0), "updated": _millis(day, 99)}
    messages: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    for number, (role, text) in enumerate(turns):
        if role == "result":
            continue
        begins = role == "user" or not messages or messages[-1][0]["role"] == "user"
        if begins:
            name = "user" if role == "user" else "assistant"
            messages.append(
                (
                    {
                        "id": f"msg_{session[4:]}{number:03}",
                        "sessionID": session,
                        "role": name,
                        "time": {"created": _millis(day, number)},
                    },
                    [],
                )
            )
        message, parts = messages[-1]
        part = {"id": f"prt_{session[4:]}{number:03}", "sessionID": session, "messageID": message["id"]}
        if role == "tool":
            tool, argument = text.split("\t")
            state = {
                "status": "completed",
                "input": {"pattern": argument},
                "output": turns[number + 1][1],
                "title": argument,
            }
            part |= {
                "type": "tool",
                "callID": f"c{number}",
                "tool": tool,
                "state": {**state, "time": {"start": _millis(day, number)}},
            }
        else:
            part |= {"type": "text", "text": text}
            part |= {} if role == "user" else {"time": {"start": _millis(day, number), "end": _millis(day, number)}}
        parts.append(part)
        if begins and role != "user":
            parts.append({**part, "id": part["id"] + "r", "type": "reasoning", "text": THINKING, "time": {"start": 1}})
    return OpenCodeSession(info, messages)


def opencode_export(session: OpenCodeSession) -> bytes:
    """Write a session as `opencode export` does."""
    messages = [{"info": message, "parts": parts} for message, parts in session.messages]
    return json.dumps({"info": session.info, "messages": messages}, indent=2).encode()


def write_opencode_storage(session: OpenCodeSession, storage: Path) -> None:
    """Write a session as OpenCode kept it until version 1.2: a file for each part."""
    files = {f"session/global/{session.info['id']}.json": session.info}
    for message, parts in session.messages:
        files[f"message/{session.info['id']}/{message['id']}.json"] = message
        files |= {f"part/{message['id']}/{part['id']}.json": part for part in parts}
    for name, value in files.items():
        (storage / name).parent.mkdir(parents=True, exist_ok=True)
        (storage / name).write_text(json.dumps(value, indent=2), encoding="utf-8")


def write_opencode_store(sessions: Iterable[OpenCodeSession], path: Path) -> None:
    """Write sessions as OpenCode keeps them since: in a database with a journal beside it."""
    connection = sqlite3.connect(path)
    connection.executescript(
        """PRAGMA journal_mode = WAL;
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id, directory TEXT, title TEXT, time_created, time_updated);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created, time_updated, data TEXT);
        CREATE TABLE part (
            id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created, time_updated, data TEXT
        );"""
    )
    for session in sessions:
        info, times = session.info, session.info["time"]
        row = (info["id"], "global", info["directory"], info["title"], times["created"], times["updated"])
        connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
        for message, parts in session.messages:
            created = message["time"]["created"]
            connection.execute(
                "INSERT INTO message VALUES (?, ?, ?, ?, ?)",
                (message["id"], info["id"], created, created, json.dumps(message)),
            )
            rows = [(part["id"], message["id"], info["id"], created, created, json.dumps(part)) for part in parts]
            connection.executemany("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()


def _clock(day: str, number: int) -> str:
    return f"{day}T09:{number % 60:02}:00.123Z"


def _millis(day: str, number: int) -> int:
    year, month, date = map(int, day.split("-"))
    days = (
        (year - 1970) * 365
        + (year - 1969) // 4
        + sum((31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30)[: month - 1])
        + date
        - 1
    )
    return (days * 86_400 + 9 * 3_600 + number * 60) * 1_000


def _lines(records: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


LOGIN: tuple[Said, ...] = (
    ("user", "Users are thrown back to the sign-in page after they log in with Google. Why?"),
    ("assistant", "I'll look at how the session cookie is set."),
    ("tool", "Bash\trg -n SameSite src"),
    ("result", f"src/auth.py:14: samesite='Strict'\n{DUMP}"),
    ("tool", "Read\tsrc/auth.py"),
    ("result", DUMP),
    (
        "assistant",
        "The cookie is SameSite=Strict, so the browser withholds it on the redirect from Google. Lax fixes that.",
    ),
    ("user", "Good. Can the nightly backup be made smaller, too?"),
    ("assistant", "Yes: pg_dump with zstd compression takes 3.1 GB instead of 11 GB, and restores twice as fast."),
)
RATES: tuple[Said, ...] = (
    ("user", "Our rate limiter lets bursts through. Which algorithm should we use instead of fixed windows?"),
    ("assistant", "A token bucket: it refills at the permitted rate and caps the burst at the size of the bucket."),
    ("tool", "exec_command\trg -n fixed_window ."),
    ("result", DUMP),
    ("assistant", "fixed_window is called in one place, so the bucket can replace it behind the same interface."),
    ("user", "continue"),
    ("assistant", "Done. The bucket lives in Redis and is updated by a Lua script, so two workers cannot race."),
    ("user", "continue"),
    ("assistant", "I also wrote a test that sends 500 requests in a second and counts how many get status 429."),
)
FONTS: tuple[Said, ...] = (
    ("user", "The headings jump while the page loads. What is going on?"),
    ("assistant", "The web font arrives late and has other metrics than the fallback, so the layout shifts."),
    ("tool", "search_file_content\tfont-display"),
    ("result", DUMP),
    ("user", "How do we stop that without dropping the font?"),
    ("assistant", "Use size-adjust and ascent-override on the fallback, and preload the font file."),
)
MAPS: tuple[Said, ...] = (
    ("user", "Tiles of the map are blank beyond zoom level 14, only in Norway."),
    ("assistant", "The projection clips latitudes above 60 degrees, because the extent is given in the wrong datum."),
    ("tool", "grep\tEPSG:3857"),
    ("result", DUMP),
    ("assistant", "After the change to EPSG:25833 the tiles of Tromso appear at every level."),
)
