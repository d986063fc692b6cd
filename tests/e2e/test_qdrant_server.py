"""The installed command with its vectors on a Qdrant server, which may be away at any moment."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, start_command
from qdrant_servers import Server
from qdrant_standin import Fault
from shells import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = ("search", "how often do we have to change our credentials", "--mode", "semantic")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server("--storage", tmp_path / "server") as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, home_directory: Path, server: Server) -> Shell:
    shell = Shell(tmp_path, home_directory)
    shell.environ["DIRINDEX_STORAGE__QDRANT__ENDPOINT"] = server.url
    shell.write("ops/keys.md", "# Operations\n\n## Key rotation\n\nRotate the signing keys every ninety days.\n")
    shell.write("kitchen/soup.md", "# Soup\n\nBoil the carrots with ginger and serve it hot.\n")
    return shell


def test_index_search_change_forget_and_doctor(shell: Shell, server: Server) -> None:
    keys = shell.docs / "ops/keys.md"
    assert shell.json("index", shell.docs)["embedded"] == 2
    assert shell.json(*QUESTION)["hits"][0]["path"] == str(keys)
    assert {check["verdict"] for check in shell.json("doctor")["findings"]} == {"ok"}
    moved = shell.docs / "moved/keys.md"
    moved.parent.mkdir()
    keys.rename(moved)
    report = shell.json("index")
    assert (report["moved"], report["embedded"], report["reused"]) == (1, 0, 1)
    assert shell.json(*QUESTION)["hits"][0]["path"] == str(moved)
    shell.run("forget", shell.docs)
    assert server.control("/_points", {}) == []
    assert all("wait=true" in line for line in server.log if line.startswith("PUT /collections/directory-indexer/po"))


@pytest.mark.slow
def test_two_indexes_share_a_collection_and_leave_each_other_alone(shell: Shell, tmp_path: Path) -> None:
    shell.run("index", shell.docs)
    first = shell.data_dir
    shell.environ["DIRINDEX_DATA_DIR"] = str(tmp_path / "second")
    shell.run("index", shell.docs)
    shell.run("forget", shell.docs)
    shell.environ["DIRINDEX_DATA_DIR"] = str(first)
    assert shell.json(*QUESTION)["hits"][0]["path"] == str(shell.docs / "ops/keys.md")
    assert {check["verdict"] for check in shell.json("doctor")["findings"]} == {"ok"}


@pytest.mark.slow
def test_a_server_that_is_away_costs_meaning_and_nothing_else(shell: Shell, server: Server) -> None:
    server.stop()
    failed = shell.run("index", shell.docs, expect=3).stderr
    assert f"no Qdrant server answers at {server.url}" in failed
    assert f"docker run -p {server.port}:6333 qdrant/qdrant" in failed
    answer = shell.json("search", "carrots")
    assert answer["hits"][0]["path"] == str(shell.docs / "kitchen/soup.md")
    server.start()
    shell.run("index")
    server.stop()
    answer = shell.json("search", "carrots")
    assert answer["hits"]
    assert f"answered by keywords alone: no Qdrant server answers at {server.url}" in answer["notes"][0]
    assert server.url in shell.run(*QUESTION, expect=3).stderr
    assert shell.run("get", shell.docs / "kitchen/soup.md").stdout
    assert shell.json("status")["embedded"] == 2
    assert server.url in shell.run("doctor", expect=3).stdout
    assert server.url in shell.run("doctor", "--repair", expect=3).stderr
    server.start()
    assert shell.json(*QUESTION)["hits"]


@pytest.mark.slow
def test_an_index_moves_to_a_server_and_back(shell: Shell, server: Server) -> None:
    del shell.environ["DIRINDEX_STORAGE__QDRANT__ENDPOINT"]
    shell.run("index", shell.docs)
    shell.run("doctor", "--repair")  # merges what is pending
    moved = shell.run("migrate", "--to-server", server.url)
    assert json.loads(moved.stdout) == {"storage": {"qdrant": {"endpoint": server.url}}}
    assert "2 of 2 passages" in moved.stderr
    shell.environ["DIRINDEX_STORAGE__QDRANT__ENDPOINT"] = server.url
    assert shell.json(*QUESTION)["hits"][0]["path"] == str(shell.docs / "ops/keys.md")
    shell.write("ops/new.md", "Change the locks after a burglary.\n")
    assert shell.json("index")["embedded"] == 1
    assert shell.json("migrate", "--to-embedded")["configuration"] == {"storage": {"qdrant": {"endpoint": None}}}
    del shell.environ["DIRINDEX_STORAGE__QDRANT__ENDPOINT"]
    server.stop()
    assert shell.json(*QUESTION)["hits"][0]["path"] == str(shell.docs / "ops/keys.md")
    assert {check["verdict"] for check in shell.json("doctor")["findings"]} == {"ok"}
    assert "--to-server URL or --to-embedded" in shell.run("migrate", expect=2).stderr
    assert "must be an http://" in shell.run("migrate", "--to-server", "localhost", expect=2).stderr
    assert "names no server" in shell.run("migrate", "--to-embedded", expect=2).stderr


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.slow
def test_a_run_that_is_killed_while_it_writes_to_the_server_costs_nothing(shell: Shell, server: Server) -> None:
    server.fail(Fault(r"PUT /collections/[^/]+/points", "slow", seconds=60))
    process = start_command([DIRINDEX, "index", shell.docs, "--quiet"], env=shell.environ)
    while not any("PUT /collections/directory-indexer/points" in line for line in server.log):
        assert process.poll() is None
    process.kill()
    process.wait()
    assert shell.json("index")["embedded"] == 0
    assert shell.json(*QUESTION)["hits"][0]["path"] == str(shell.docs / "ops/keys.md")
    assert {check["verdict"] for check in shell.json("doctor")["findings"]} == {"ok"}
