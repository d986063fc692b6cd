"""Calls of tools are counted in the transcripts of four assistants, whatever else is among them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcripts import (
    claude_code,
    codex,
    compressed,
    gemini,
    gemini_journal,
    opencode,
    opencode_export,
    write_opencode_storage,
    write_opencode_store,
)

from directory_indexer.api.reports import usage_answer
from directory_indexer.formats.transcripts.events import ToolKind
from directory_indexer.integrations.usage import ToolUse, Usage, usage_in

SAID = (
    ("user", "Where are keys rotated?"),
    ("assistant", "Let me look."),
    ("tool", "Grep\trotate"),
    ("result", "a.py:1: rotate\n" * 20),
    ("tool", "Read\ta.py"),
    ("result", "x" * 3000),
    ("assistant", "In a.py."),
)
OPENED = {"session": "ses_1", "day": "2026-03-01"}
WRITERS = {
    "claude-code": lambda: claude_code(SAID, **OPENED),
    "gemini": lambda: gemini(SAID, **OPENED),
    "gemini journal": lambda: gemini_journal(SAID, **OPENED),
    "opencode export": lambda: opencode_export(opencode(SAID, title="Keys", **OPENED)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_calls_are_counted_by_what_they_are_for(tmp_path: Path, name: str) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(WRITERS[name]())
    usage = usage_in([str(file)])
    assert sum(usage.n_sessions.values()) == 1
    assert usage.uses[ToolKind.READ].n_calls == 1
    assert usage.uses[ToolKind.READ].most_bytes >= 3000
    assert usage.uses[ToolKind.GREP].n_calls == 1
    assert not usage.unreadable


def test_sessions_that_codex_has_compressed_are_counted(tmp_path: Path) -> None:
    content = codex(SAID, session="ses_1", day="2026-03-01")
    (tmp_path / "plain.jsonl").write_bytes(content)
    (tmp_path / "rollout-1.jsonl.zst").write_bytes(compressed(content))
    (tmp_path / "rollout-2.jsonl.zst").write_bytes(compressed(content)[:-40])
    one = usage_in([str(tmp_path / "plain.jsonl")])
    assert usage_in([str(tmp_path / "rollout-1.jsonl.zst")]) == one
    cut = usage_in([str(tmp_path / "plain.jsonl"), str(tmp_path / "rollout-2.jsonl.zst")])
    assert cut.uses == one.uses
    assert [os.path.basename(path) for path in cut.unreadable] == ["rollout-2.jsonl.zst"]
    assert usage_in([str(tmp_path)]).uses[ToolKind.READ].n_calls == 2


def test_commands_in_a_shell_are_told_by_their_program(tmp_path: Path) -> None:
    said = (
        ("tool", "shell\trg -n rotate"),
        ("result", "a.py:1\n"),
        ("tool", "shell\tdirindex search 'keys'"),
        ("result", "b"),
    )
    (tmp_path / "rollout.jsonl").write_bytes(codex(said, session="s1", day="2026-03-01"))
    usage = usage_in([str(tmp_path)])
    assert usage.n_sessions == {"codex": 1}
    assert usage.uses[ToolKind.GREP].n_own == 0
    assert (usage.uses[ToolKind.SEARCH].n_calls, usage.uses[ToolKind.SEARCH].n_own) == (1, 1)


def test_the_store_of_opencode_holds_many_sessions(tmp_path: Path) -> None:
    sessions = [opencode(SAID, title="Keys", session=f"ses_{number}", day="2026-03-01") for number in range(3)]
    write_opencode_store(sessions, tmp_path / "opencode.db")
    usage = usage_in([str(tmp_path)])
    assert usage.n_sessions == {"opencode": 3}
    assert usage.uses[ToolKind.READ].n_calls == 3


def test_a_session_of_many_files_is_one(tmp_path: Path) -> None:
    write_opencode_storage(opencode(SAID, title="Keys", **OPENED), tmp_path)
    usage = usage_in([str(tmp_path)])
    assert usage.n_sessions == {"opencode": 1}
    assert usage.uses[ToolKind.READ].n_calls == 1


def test_three_bytes_are_a_token() -> None:
    use = ToolUse(ToolKind.READ, n_calls=3, n_bytes=3000, most_bytes=2001, n_unknown=1)
    (entry,) = usage_answer(Usage(uses={ToolKind.READ: use})).tools
    assert (entry.tokens, entry.tokens_per_call, entry.most_tokens) == (1000, 500, 667)


def test_other_files_of_a_directory_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/session.jsonl").write_bytes(WRITERS["claude-code"]())
    usage = usage_in([str(tmp_path)])
    assert (usage.n_other, usage.n_sessions, usage.unreadable) == (1, {"claude-code": 1}, {})


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Dear diary")
    missing = tmp_path / "missing.jsonl"
    usage = usage_in([str(tmp_path / "notes.txt"), str(missing)])
    assert usage.unreadable == {
        str(tmp_path / "notes.txt"): "it is not a transcript",
        str(missing): "No such file or directory",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "session.jsonl")
    assert list(usage_in([str(tmp_path)]).unreadable.values()) == ["it is not a regular file"]


def test_lines_that_are_cut_off_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(WRITERS["claude-code"]() + b'{"type": "user", "mess\n\x00\xff\xfe\n[1]\n\n')
    usage = usage_in([str(file)])
    assert (usage.n_sessions, usage.n_passed_over) == ({"claude-code": 1}, 3)
    assert usage.uses[ToolKind.READ].n_calls == 1


def test_a_damaged_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "opencode.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    assert list(usage_in([str(tmp_path)]).unreadable) == [str(tmp_path / "opencode.db")]


@given(st.data(), st.sampled_from(sorted(WRITERS)))
def test_no_damage_ends_the_count(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str) -> None:
    content = bytearray(WRITERS[name]())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=8))
    file = tmp_path_factory.getbasetemp() / "damaged.jsonl"
    file.write_bytes(content)
    usage = usage_in([str(file)])
    assert sum(usage.n_sessions.values()) + len(usage.unreadable) == 1
