"""The command with a provider on the network: configured by the environment, away, and changed for another."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING, Any

import pytest
from commands import DIRINDEX, run_command, start_command
from providers import KEY, MODEL, ProviderServer

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


class Shell:
    """The command in an environment of its own."""

    def __init__(self, place: Path) -> None:
        self.docs = place / "docs"
        self.docs.mkdir()
        self.data_dir = place / "data"
        self.environ = dict(os.environ, HOME=str(place), DIRINDEX_DATA_DIR=str(self.data_dir))

    def embed_with(self, **settings: str | None) -> None:
        for name, value in settings.items():
            variable = f"DIRINDEX_EMBEDDING__{name.upper()}"
            self.environ.pop(variable, None)
            if value is not None:
                self.environ[variable] = value

    def run(self, *words: str | Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = run_command([DIRINDEX, *words], check=False, env=self.environ)
        assert done.returncode == expect, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words: str | Path, expect: int = 0) -> dict[str, Any]:
        answer = json.loads(self.run(*words, "--json", expect=expect).stdout)
        assert isinstance(answer, dict)
        return answer

    def found(self, query: str, mode: str) -> list[str]:
        hits = self.json("search", query, "--mode", mode, "--limit", "1")["hits"]
        return [Path(hit["path"]).name for hit in hits]


@pytest.fixture
def shell(tmp_path: Path, server: ProviderServer) -> Shell:
    server.control()
    shell = Shell(tmp_path)
    for name in ("harbour", "lighthouse", "orchard"):
        (shell.docs / f"{name}.md").write_text(f"all about the {name}\n", encoding="utf-8")
    return shell


def test_a_provider_that_is_away_costs_the_meaning_and_not_the_words(shell: Shell, server: ProviderServer) -> None:
    shell.embed_with(provider="ollama", model=MODEL, endpoint=NOBODY)
    report = shell.run("index", shell.docs, expect=3)
    assert "3 added" in report.stdout
    assert "start it: ollama serve" in report.stdout
    assert shell.found("harbour", "keyword") == ["harbour.md"]
    assert shell.found("harbour", "hybrid") == ["harbour.md"]
    assert shell.json("status")["embedded"] == 0
    assert "all about" in shell.run("get", shell.docs / "harbour.md").stdout
    shell.embed_with(endpoint=server.root)
    assert shell.json("index")["embedded"] == 3
    assert shell.found("harbour", "semantic") == ["harbour.md"]


@pytest.mark.slow
def test_a_provider_that_dies_in_the_middle_costs_what_it_had_in_hand(shell: Shell, server: ProviderServer) -> None:
    for number in range(100):
        (shell.docs / f"{number:02}.md").write_text(f"note {number:02} about the harbour\n", encoding="utf-8")
    with ProviderServer() as dying:
        dying.fail("slow", when="note 90")
        shell.embed_with(provider="ollama", model=MODEL, endpoint=dying.root, batch_size="8")
        run = start_command([DIRINDEX, "index", shell.docs, "--quiet"], env=shell.environ, stderr=PIPE)
        while not any("note 90" in text for text in dying.texts):
            assert run.poll() is None
        dying.process.kill()
        _, said = run.communicate(timeout=100)
    assert (run.returncode, b"ollama" in said) == (3, True), said
    n_kept = shell.json("status")["embedded"]
    assert n_kept < 100
    assert shell.found("note 90", "keyword") == ["90.md"]
    shell.embed_with(endpoint=server.root)
    assert shell.json("index")["embedded"] == 103 - n_kept


def test_a_run_with_nothing_to_embed_does_not_need_the_provider(shell: Shell, server: ProviderServer) -> None:
    shell.embed_with(provider="ollama", model=MODEL, endpoint=server.root)
    shell.run("index", shell.docs)
    (shell.docs / "orchard.md").unlink()
    shell.embed_with(endpoint=NOBODY)
    assert shell.json("index")["removed"] == 1


def test_changing_the_provider_says_what_it_costs_and_waits_for_consent(shell: Shell, server: ProviderServer) -> None:
    shell.run("index", shell.docs)
    shell.embed_with(provider="openai", model=MODEL, endpoint=server.endpoint("openai"), api_key=KEY)
    server.control(api_key=KEY)
    plan = shell.json("index", "--dry-run")
    assert plan["embedding"] == f"openai/{MODEL}"
    assert plan["tokens"] > 0
    assert "make every text searchable by meaning again" in plan["redone"][0]
    assert "--yes" in shell.run("index", expect=2).stderr
    assert shell.found("ships", "semantic") == ["harbour.md"]
    assert shell.json("index", "--yes")["embedded"] == 3
    assert shell.found("harbour", "semantic") == ["harbour.md"]
    model = shell.json("status")["model"]
    assert (model["provider"], model["dimensions"]) == ("openai", 64)


def test_a_switch_whose_provider_is_away_leaves_the_old_answers(shell: Shell, server: ProviderServer) -> None:
    shell.run("index", shell.docs)
    shell.embed_with(provider="ollama", model=MODEL, endpoint=NOBODY)
    shell.run("index", "--yes", expect=3)
    assert shell.found("ships", "semantic") == ["harbour.md"]
    status = shell.json("status")
    assert (status["model"]["provider"], status["next_model"]["provider"]) == ("embedded", "ollama")
    assert "embedded/all-MiniLM-L6-v2 answers" in shell.run("search", "ships").stderr
    shell.embed_with(endpoint=server.root)
    assert shell.json("index")["embedded"] == 3
    assert shell.json("status")["next_model"] is None


@pytest.mark.slow
def test_the_key_is_shown_nowhere(shell: Shell, server: ProviderServer) -> None:
    server.control(api_key="another")
    shell.embed_with(provider="openai", model=MODEL, endpoint=server.endpoint("openai"), api_key=KEY)
    shown = [
        shell.run("index", shell.docs, "--verbose", expect=3),
        shell.run("search", "harbour", "--mode", "semantic", expect=3),
        shell.run("doctor", expect=3),
        shell.run("config"),
        shell.run("status", "--json"),
    ]
    assert "401" in shown[0].stdout
    assert not [one for one in shown if KEY in one.stdout + one.stderr]
    for path in shell.data_dir.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


def test_an_index_of_the_first_schema_is_searched_and_goes_on(shell: Shell) -> None:
    shell.run("index", shell.docs)
    with sqlite3.connect(shell.data_dir / "data.db") as connection:
        connection.executescript(
            """DROP INDEX files_by_parent; DROP TABLE settled_directories;
               DROP TABLE refused_chunks; DROP TABLE former_points; DELETE FROM meta WHERE key = 'space';
               ALTER TABLE directories DROP COLUMN mounts; PRAGMA user_version = 1;"""
        )
    connection.close()
    assert shell.found("ships", "semantic") == ["harbour.md"]
    (shell.docs / "new.md").write_text("all about the mountain\n", encoding="utf-8")
    report = shell.json("index")
    assert (report["embedded"], report["unchanged"]) == (1, 3)
    assert shell.found("peaks", "semantic") == ["new.md"]


def test_clients_of_providers_are_loaded_by_those_who_use_them(shell: Shell) -> None:
    shell.run("index", shell.docs)
    shell.embed_with(provider="openai", model=MODEL, endpoint=f"{NOBODY}/v1")
    code = (
        "import sys; sys.argv = ['dirindex', *sys.argv[1:]]\n"
        "import atexit, os; exit = os._exit\n"
        "loaded = lambda: ','.join({'openai', 'ollama', 'tiktoken'} & set(sys.modules))\n"
        "os._exit = lambda code: (sys.stderr.write(loaded()), exit(code))\n"
        "from directory_indexer.cli import main; main()\n"
    )
    for words in (["search", "harbour", "--mode", "keyword"], ["status"], ["--help"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=shell.docs,
            env=shell.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == "", words
