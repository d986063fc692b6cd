"""Sessions of four assistants where they lie at home, indexed and asked with the packaged model."""

from __future__ import annotations

from pathlib import Path

import pytest
from shells import Shell
from transcripts import (
    FONTS,
    LOGIN,
    MAPS,
    RATES,
    claude_code,
    codex,
    gemini_journal,
    opencode,
    write_opencode_storage,
    write_opencode_store,
)

QUESTIONS = (
    ("why are people sent back to sign in after a Google login", "claude", "thrown back to the sign-in page"),
    ("which SameSite value fixes the redirect", "claude", "Lax fixes that"),
    ("how large is the nightly backup with compression", "claude", "3.1 GB"),
    ("rate limiting algorithm that caps bursts", "codex", "caps the burst"),
    ("how are races between two workers avoided", "codex", "Lua script"),
    ("how is the limit tested with status 429", "codex", "500 requests"),
    ("cause of the layout shift when headings load", "gemini", "arrives late"),
    ("size-adjust for the fallback font", "gemini", "preload the font file"),
    ("blank tiles of the map in Norway", "opencode", "blank beyond zoom level 14"),
    ("why does the projection cut off the north", "opencode", "clips latitudes above 60"),
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    place = tmp_path_factory.mktemp("sessions")
    home = place / "home"
    shell = Shell(place, home)
    files = {
        ".claude/projects/-home-ann-shop/0205f437.jsonl": claude_code(LOGIN, session="0205f437", day="2026-03-02"),
        ".codex/sessions/2026/04/02/rollout-2026-04-02T09-00-00-019a.jsonl": codex(
            RATES, session="019a", day="2026-04-02"
        ),
        ".gemini/tmp/7f/chats/session-2026-05-02T09-00-5e55.jsonl": gemini_journal(
            FONTS, session="5e55", day="2026-05-02"
        ),
    }
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    session = opencode(MAPS, session="ses_46aa", day="2026-06-02", title="Blank tiles")
    write_opencode_storage(session, home / ".local/share/opencode/storage")
    roots = [home / name for name in (".claude/projects", ".codex/sessions", ".gemini/tmp", ".local/share/opencode")]
    shell.run("index", *roots, "--quiet")
    return shell


def hits(shell: Shell, *arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = shell.json("search", *arguments)["hits"]
    return found


@pytest.mark.parametrize(("question", "assistant", "answer"), QUESTIONS)
def test_a_question_is_answered_by_the_right_turn(asked: Shell, question: str, assistant: str, answer: str) -> None:
    found = hits(asked, f"type:transcript {question}")[:2]
    assert [
        hit for hit in found if answer in str(hit["excerpt"]) and f"/{assistant}" in str(hit["path"]).replace("/.", "/")
    ]


def test_sessions_are_narrowed_by_their_time_and_their_assistant(asked: Shell) -> None:
    assert {hit["kind"] for hit in hits(asked, "type:transcript since:2026-03-03 until:2026-04-03 the")} == {
        "transcript"
    }
    paths = {str(hit["path"]) for hit in hits(asked, "type:transcript since:2026-03-03 until:2026-04-03 burst")}
    assert [Path(path).name for path in paths] == ["rollout-2026-04-02T09-00-00-019a.jsonl"]
    assert hits(asked, "tag:gemini font")[0]["metadata"]["thread"] == ["5e55"]  # type: ignore[index]


def test_since_and_until_mean_the_turn_and_not_its_session(tmp_path: Path, home_directory: Path) -> None:
    shell = Shell(tmp_path, home_directory)
    shell.docs.mkdir(exist_ok=True)
    early = (("user", "Where does the importer read holidays from?"), ("assistant", "From the almanac in March."))
    late = (("user", "And where does the importer read them now?"), ("assistant", "From the calendar service in May."))
    both = claude_code(early, session="s1", day="2026-03-02") + claude_code(late, session="s1-later", day="2026-05-06")
    (shell.docs / "long.jsonl").write_bytes(both.replace(b'"s1-later"', b'"s1"'))
    shell.run("index", shell.docs, "--quiet")

    def said(narrowing: str) -> list[str]:
        found = hits(shell, f"importer {narrowing}", "--mode", "keyword")
        return [str(hit["excerpt"]).strip() for hit in found]

    assert said("until:2026-04") == ["Where does the importer read holidays from?"]
    assert said("since:2026-04") == ["And where does the importer read them now?"]
    assert "nothing found" in shell.run("search", "importer since:2026-04 until:2026-04", expect=1).stderr


def test_the_database_of_opencode_is_a_file_of_sessions(shell_of_store: Shell) -> None:
    hit = hits(shell_of_store, "type:transcript blank tiles in Norway")[0]
    assert str(hit["path"]).endswith("opencode.db!/ses_46aa.json")
    assert "zoom level 14" in shell_of_store.run("get", str(hit["path"])).stdout


@pytest.fixture
def shell_of_store(tmp_path: Path, home_directory: Path) -> Shell:
    shell = Shell(tmp_path, home_directory)
    shell.docs.mkdir(exist_ok=True)
    store = shell.docs / "opencode.db"
    write_opencode_store([opencode(MAPS, session="ses_46aa", day="2026-06-02", title="Blank tiles")], store)
    (shell.docs / "other.db").write_bytes(store.read_bytes())
    shell.run("index", shell.docs, "--quiet")
    return shell
