"""Sessions of assistants: what was said comes out, who said it and when, and what tools gave does not."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcripts import (
    BASE64,
    DUMP,
    FONTS,
    LOGIN,
    MAPS,
    RATES,
    Said,
    claude_code,
    codex,
    gemini,
    gemini_journal,
    opencode,
    opencode_export,
)

from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document
from directory_indexer.formats.recognition import kind_of
from directory_indexer.formats.transcripts.document import open_session, open_transcript
from directory_indexer.formats.transcripts.events import (
    Assistant,
    Role,
    ToolCall,
    ToolKind,
    Turn,
    turn_heading,
    turn_time,
)
from directory_indexer.formats.transcripts.records import remove_noise
from directory_indexer.formats.transcripts.tool_calls import kind_of_call, kind_of_command
from directory_indexer.secrets.redaction import redact_document

SESSIONS: dict[str, tuple[bytes, tuple[Said, ...], Assistant]] = {
    "claude": (claude_code(LOGIN, session="0205f437-f816", day="2026-03-02"), LOGIN, Assistant.CLAUDE_CODE),
    "codex": (codex(RATES, session="019a2d7a-41c4", day="2026-04-02"), RATES, Assistant.CODEX),
    "codex-items": (codex(RATES, session="019a", day="2026-04-02", is_doubled=False), RATES, Assistant.CODEX),
    "gemini": (gemini(FONTS, session="5e55", day="2026-05-02"), FONTS, Assistant.GEMINI),
    "gemini-journal": (gemini_journal(FONTS, session="5e55", day="2026-05-02"), FONTS, Assistant.GEMINI),
    "opencode": (
        opencode_export(opencode(MAPS, session="ses_46aa", day="2026-06-02", title="Blank tiles")),
        MAPS,
        Assistant.OPENCODE,
    ),
}


@pytest.fixture(params=SESSIONS)
def session(request: pytest.FixtureRequest) -> tuple[bytes, tuple[Said, ...], Assistant]:
    return SESSIONS[request.param]


def document(content: bytes) -> Document:
    transcript = open_transcript(io.BytesIO(content), "transcript", Budget()).document
    assert transcript is not None
    return transcript


def turns(content: bytes) -> list[tuple[str, str]]:
    opened = open_session(io.BytesIO(content))
    assert opened is not None
    return [
        (str(event.role), remove_noise(event.text))
        for event in opened.events
        if isinstance(event, Turn) and remove_noise(event.text)
    ]


def calls(content: bytes) -> list[ToolCall]:
    opened = open_session(io.BytesIO(content))
    assert opened is not None
    return [event for event in opened.events if isinstance(event, ToolCall)]


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def test_what_was_said_comes_out_once_and_in_order(session: tuple[bytes, tuple[Said, ...], Assistant]) -> None:
    content, messages, assistant = session
    opened = open_session(io.BytesIO(content))
    assert opened is not None
    assert opened.assistant is assistant
    assert turns(content) == [(role, text) for role, text in messages if role in {"user", "assistant"}]


def test_what_tools_gave_and_what_was_only_thought_is_left_out(
    session: tuple[bytes, tuple[Said, ...], Assistant],
) -> None:
    text = document(session[0]).text
    assert not [word for word in ("zanzibar", "quokka", BASE64[:40], "You are a coding agent") if word in text]


def test_a_call_of_a_tool_is_one_line_and_says_how_much_it_gave(
    session: tuple[bytes, tuple[Said, ...], Assistant],
) -> None:
    content, messages, _ = session
    called = [text.split("\t") for role, text in messages if role == "tool"]
    result_sizes = [len(text.encode()) for role, text in messages if role == "result"]
    tool_calls = calls(content)
    assert [[call.name, call.about] for call in tool_calls] == called
    assert [call.n_result_bytes for call in tool_calls] == result_sizes
    assert tool_calls[0].kind is ToolKind.GREP
    assert f"[{called[0][0]}: {called[0][1]}]\n" in document(content).text


def test_a_turn_is_a_section_that_tells_who_speaks_and_when(
    session: tuple[bytes, tuple[Said, ...], Assistant],
) -> None:
    transcript = document(session[0])
    assert all(section.is_apart for section in transcript.sections)
    assert transcript.sections[0].headings[0].startswith("user, 2026-")
    assert transcript.sections[1].headings[0].startswith("assistant, 2026-")
    assert transcript.sections[1].headings[1] == session[1][0][1]


def test_a_heading_tells_again_when_a_turn_was_said() -> None:
    moment = datetime(2026, 3, 2, 9, 14, 30, tzinfo=UTC)
    for role in Role:
        for is_aside in (False, True):
            heading = turn_heading(role, moment.isoformat(timespec="seconds"), is_aside=is_aside)
            assert turn_time(f"{heading} > Why?") == moment.timestamp() - 30
    assert turn_time(turn_heading(Role.USER, "", is_aside=False)) is None
    assert turn_time("user, 2026-13-45 09:14 UTC") is None
    assert turn_time("The user, 2026-03-02 09:14 UTC") is None


def test_a_session_says_when_it_was_and_which_it_is() -> None:
    transcript = document(SESSIONS["claude"][0])
    assert transcript.metadata.created == "2026-03-02T09:00:00+00:00"
    assert transcript.metadata.modified == "2026-03-02T09:08:00+00:00"
    assert transcript.metadata.thread == "0205f437-f816"
    assert transcript.metadata.tags == ("claude-code",)
    assert transcript.title.endswith("(Claude Code session 0205f437-f816 in /home/ann/shop)")


def test_a_session_is_a_transcript_whatever_it_is_called(session: tuple[bytes, tuple[Said, ...], Assistant]) -> None:
    for name in ("a.jsonl", "session.json", "noname", "a.txt"):
        assert kind_of(file_path(f"/root/{name}"), session[0]) == "transcript"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("jsonl", b'{"text": "a", "meta": {"sessionId": "x", "parentUuid": null, "isSidechain": false}}\n'),
        ("jsonl", b'{"timestamp": "2026", "type": "session", "payload": {}}\n{"instructions": "Sort", "id": 1}\n'),
        ("jsonl", b'{"id": "1", "timestamp": "2026", "instructions": "Sort this", "output": "a b"}\n'),
        ("jsonl", b'{"sessionId": "a", "event": "click"}\n{"sessionId": "a", "type": "user"}\n'),
        ("json", b'{"sessionId": "a", "user": {"projectHash": "b"}}'),
        ("json", b'[{"type": "user", "message": "hello", "sessionId": 3}]'),
        ("json", b'{"id": "ses_1", "name": "Session of parliament"}'),
    ],
)
def test_other_data_stays_what_it_was(name: str, content: bytes) -> None:
    assert kind_of(file_path(f"/root/data.{name}"), content) == name


def test_a_session_is_recognised_by_the_beginning_of_a_first_record_that_is_long() -> None:
    meta = {"id": "019a", "timestamp": "2026-04-02T09:00:00Z", "base_instructions": {"text": "x" * 20_000}}
    record: dict[str, object] = {"timestamp": "2026-04-02T09:00:00Z", "type": "session_meta", "payload": meta}
    assert kind_of(file_path("/root/a.jsonl"), lines(record)) == "transcript"
    message = {"role": "user", "content": "y" * 20_000}
    first = {"parentUuid": None, "isSidechain": False, "sessionId": "a", "type": "user", "message": message}
    content = json.dumps(first, separators=(",", ":")).encode()
    assert kind_of(file_path("/root/a.jsonl"), content) == "transcript"


def test_a_resumed_session_that_repeats_records_says_nothing_twice() -> None:
    content = SESSIONS["claude"][0]
    assert turns(content + content) == turns(content)


def test_a_last_line_that_is_still_being_written_is_passed_over() -> None:
    content = SESSIONS["codex"][0]
    assert turns(content[:-20]) == turns(content)


def test_what_completed_items_say_of_newer_versions_of_codex_comes_once() -> None:
    item = {"type": "UserMessage", "content": [{"type": "text", "text": "Why is the queue slow?"}]}
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "It has one worker."}],
    }
    injected = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "# AGENTS.md\nquokkas"}]}
    agent_message = {"type": "AgentMessage", "content": [{"type": "Text", "text": "It has one worker."}]}
    content = lines(
        {
            "timestamp": "2026-08-18T02:44:22Z",
            "type": "session_meta",
            "payload": {"id": "019a", "history_mode": "paginated"},
        },
        {"timestamp": "2026-08-18T02:44:23Z", "type": "response_item", "payload": injected},
        {"timestamp": "2026-08-18T02:44:24Z", "type": "event_msg", "payload": {"type": "item_completed", "item": item}},
        {"timestamp": "2026-08-18T02:44:25Z", "type": "response_item", "payload": answer},
        {
            "timestamp": "2026-08-18T02:44:26Z",
            "type": "event_msg",
            "payload": {"type": "item_completed", "item": agent_message},
        },
    )
    assert turns(content) == [("user", "Why is the queue slow?"), ("assistant", "It has one worker.")]


def test_sessions_of_the_first_versions_of_codex_are_read() -> None:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Sort the imports."}]}
    call = {
        "type": "function_call",
        "name": "shell",
        "arguments": '{"command":["bash","-lc","cat a.py"]}',
        "call_id": "c",
    }
    content = lines(
        {"id": "67e55044-10b1-426f-9247-bb680e5fe0c8", "timestamp": "2025-06-01T09:00:00Z", "instructions": None},
        {"record_type": "state"},
        item,
        call,
        {"type": "function_call_output", "call_id": "c", "output": "import b\n"},
    )
    assert turns(content) == [("user", "Sort the imports.")]
    assert [(call.kind, call.about, call.n_result_bytes) for call in calls(content)] == [(ToolKind.READ, "cat a.py", 9)]


def test_prompts_that_gemini_logs_are_turns() -> None:
    entries = [
        {"sessionId": "s", "messageId": 0, "type": "user", "message": "Fix it", "timestamp": "2026-01-02T03:04:05Z"}
    ]
    assert turns(json.dumps(entries, indent=2).encode()) == [("user", "Fix it")]


def test_the_conversation_with_a_sub_agent_is_told_apart() -> None:
    record = {"parentUuid": None, "isSidechain": True, "sessionId": "a", "timestamp": "2026-01-02T03:04:05Z"}
    content = lines({**record, "type": "user", "message": {"role": "user", "content": "Look for the parser"}})
    assert document(content).sections[0].headings == ("sub-agent, user, 2026-01-02 03:04 UTC",)


def test_a_file_in_which_nobody_says_anything_has_no_text() -> None:
    part = {"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "tool", "tool": "read", "state": {}}
    assert document(json.dumps(part).encode()).text == ""


def test_secrets_in_turns_calls_and_titles_are_masked() -> None:
    messages = (
        ("user", "Log in with password: Sunflower-42!xyz please"),
        ("tool", "Bash\tcurl -H 'Authorization: Bearer ghp_16C7e42F292c6912E7710c838347Ae178B4a' https://x.org"),
        ("result", "ok"),
    )
    redacted = redact_document(
        document(claude_code(messages, session="0205f437", day="2026-03-02")), "a.jsonl"
    ).document
    assert not [secret for secret in ("Sunflower", "16C7e42F") if secret in str(redacted)]


def test_a_call_without_a_result_comes_at_the_end() -> None:
    content = lines(
        {"timestamp": "2026-04-02T09:00:00Z", "type": "session_meta", "payload": {"id": "019a"}},
        {
            "timestamp": "",
            "type": "response_item",
            "payload": {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
        },
    )
    assert [(call.name, call.kind, call.n_result_bytes) for call in calls(content)] == [
        ("local_shell_call", ToolKind.LIST, None)
    ]


@pytest.mark.parametrize(
    ("name", "command", "kind"),
    [
        ("Grep", "", ToolKind.GREP),
        ("search_file_content", "", ToolKind.GREP),
        ("mcp__dirindex__search", "", ToolKind.SEARCH),
        ("mcp__dirindex__grep", "", ToolKind.GREP),
        ("mcp__dirindex__get", "", ToolKind.READ),
        ("WebSearch", "", ToolKind.WEB),
        ("read_many_files", "", ToolKind.READ),
        ("functions.exec_command", "cd src && FOO=1 rg -n x | head", ToolKind.GREP),
        ("Bash", "sed -n 1,20p a.py", ToolKind.READ),
        ("Bash", "git -C x log", ToolKind.SHELL),
        ("Bash", "dirindex search 'a b'", ToolKind.SEARCH),
        ("mcp__github__create_issue", "", ToolKind.OTHER),
    ],
)
def test_what_a_tool_is_for_is_told_by_its_name_or_the_command(name: str, command: str, kind: ToolKind) -> None:
    assert kind_of_call(name, command) is kind


def test_what_programs_put_around_a_turn_goes_and_what_people_say_of_it_stays() -> None:
    assert remove_noise("a <system-reminder>b</system-reminder>c") == "a c"
    assert remove_noise("why is <system-reminder> there?") == "why is <system-reminder> there?"
    assert remove_noise(f"see data:image/png;base64,{BASE64}== here") == "see […] here"
    assert len(remove_noise(DUMP * 100)) < 40_000


@given(st.binary(max_size=300), st.sampled_from(sorted(SESSIONS)), st.integers(0, 5_000))
def test_no_bytes_make_a_reader_fail(noise: bytes, name: str, at: int) -> None:
    content = SESSIONS[name][0]
    opened = open_session(io.BytesIO(content[:at] + noise + content[at:]))
    if opened is not None:
        list(opened.events)


ANY_VALUE = st.recursive(
    st.none() | st.integers() | st.text(max_size=20),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=10), values, max_size=4),
    max_leaves=8,
)


@settings(max_examples=30)
@given(ANY_VALUE)
def test_no_value_in_the_place_of_a_message_makes_a_reader_fail(value: object) -> None:
    for record in (
        {"parentUuid": None, "isSidechain": False, "sessionId": "a", "type": "user", "message": {"content": value}},
        {"timestamp": "2026", "type": "session_meta", "payload": {"id": value}},
        {"timestamp": value, "type": "response_item", "payload": {"type": "message", "role": "user", "content": value}},
        {"sessionId": "a", "projectHash": "b", "messages": value},
        {"info": {"id": "ses_1", "time": value}, "messages": [{"info": value, "parts": value}]},
    ):
        document(lines(record))


def test_a_command_of_nothing_but_preparations_is_a_shell() -> None:
    assert kind_of_command("cd x && export A=1") is ToolKind.SHELL
