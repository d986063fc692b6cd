"""`dirindex install` and `dirindex usage` as people run them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shells import Shell
from transcripts import claude_code

KEY = "sk-ant-api03-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 3 + "AA"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path, tmp_path / "home")
    (tmp_path / "home/.codex").mkdir(parents=True)
    (tmp_path / "home/.gemini").mkdir()
    settings = f'{{\n  "mcpServers": {{}},\n  "env": {{\n    "ANTHROPIC_API_KEY": "{KEY}"\n  }}\n}}\n'
    (tmp_path / "home/.gemini/settings.json").write_text(settings)
    return shell


def below(shell: Shell) -> dict[str, bytes]:
    home = Path(shell.environ["HOME"])
    files = (path for path in home.rglob("*") if path.is_file())
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


def test_what_is_found_is_shown_put_in_and_taken_out(shell: Shell) -> None:
    before = below(shell)
    shown = shell.run("install", "--dry-run").stdout
    assert ".codex/config.toml" in shown
    assert '+    "dirindex": {' in shown
    assert KEY not in shown
    assert below(shell) == before
    answer = shell.json("install", "--yes")
    assert {part["client"] for part in answer["parts"]} == {"codex", "gemini"}
    assert all(Path(file).is_file() for file in answer["files"])
    settings = json.loads((Path(shell.environ["HOME"]) / ".gemini/settings.json").read_text())
    assert settings["mcpServers"]["dirindex"]["args"][0] == "serve"
    assert shell.json("install", "--yes")["files"] == []
    taken_out = shell.run("install", "--uninstall", "--yes", "--quiet").stdout
    assert [line.split("  skill")[0] for line in taken_out.splitlines() if "  skill" in line] == ["codex, gemini"]
    assert below(shell) == before


def test_without_a_terminal_nothing_is_written_unasked(shell: Shell) -> None:
    before = below(shell)
    assert "--yes" in shell.run("install", expect=2).stderr
    assert below(shell) == before
    assert shell.json("install", "codex", "--mcp")["files"]


def test_where_there_is_no_assistant_those_that_can_be_named_are(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    shell.environ["HOME"] = str(tmp_path / "empty")
    refused = shell.run("install", "--dry-run", expect=2).stderr
    assert "no assistant was found on this machine" in refused
    assert "name one: claude-code, " in refused


def test_variables_that_an_assistant_does_not_see_are_named_but_the_token(shell: Shell) -> None:
    shell.environ |= {"DIRINDEX_TOKEN": "abc", "DIRINDEX_OCR__ENGINE": "off"}
    printed = shell.run("serve", "--print-config", "cursor").stderr
    assert "the assistant does not see DIRINDEX_OCR__ENGINE: " in printed


def test_names_and_homes_that_are_none_are_refused(shell: Shell, tmp_path: Path) -> None:
    assert "no place is known for hooks in zed" in shell.run("install", "zed", "--hooks", expect=2).stderr
    assert "known: " in shell.run("install", "emacs", expect=2).stderr
    shell.environ["HOME"] = str(tmp_path / "nowhere")
    assert "no home directory" in shell.run("install", "codex", "--yes", expect=3).stderr


def test_usage_is_counted(shell: Shell, tmp_path: Path) -> None:
    said = (("user", "Where?"), ("tool", "Grep\trotate"), ("result", "a.py:1: rotate"))
    (tmp_path / "session.jsonl").write_bytes(claude_code(said, session="s", day="2026-03-01"))
    (tmp_path / "no.txt").write_text("no")
    counted = shell.run("usage", tmp_path / "session.jsonl", tmp_path / "no.txt", "-v")
    assert "1 session: 1 claude-code" in counted.stdout
    assert "no.txt: it is not a transcript" in counted.stdout
    answer = shell.json("usage", tmp_path / "session.jsonl")
    assert answer["tools"] == [
        {
            "kind": "grep",
            "calls": 1,
            "dirindex": 0,
            "tokens": 5,
            "tokens_per_call": 5,
            "most_tokens": 5,
            "without_result": 0,
        }
    ]
    shell.json("usage", tmp_path / "no.txt", expect=1)
    assert "~/.claude/projects" in shell.run("usage", tmp_path / "no.txt", expect=1).stderr
