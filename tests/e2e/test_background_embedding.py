"""Servers and watchers go on with embedding by themselves, and a change need not wait for it."""

from __future__ import annotations

import json
import os
import signal
from contextlib import ExitStack, contextmanager
from subprocess import PIPE
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, Process, start_command
from serving import RawClient
from shells import Shell

from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_N_FILES = 40


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home = tmp_path / "home"
    home.mkdir()
    shell = Shell(tmp_path, home)
    for number in range(_N_FILES):
        shell.write(f"note{number}.md", f"# Note {number}\n\nAbout topic {number * 7}.\n")
    return shell


def n_waiting(shell: Shell) -> int:
    waiting = shell.json("status")["waiting"]["chunks"]
    assert isinstance(waiting, int)
    return waiting


@contextmanager
def watcher(shell: Shell) -> Iterator[Process]:
    command: list[str | os.PathLike[str]] = [DIRINDEX, "index", "--watch", shell.docs, "--quiet"]
    with start_command(command, env=shell.environ, cwd=shell.docs, stderr=PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_server_embeds_what_waits_and_of_two_servers_one_does(shell: Shell) -> None:
    shell.run("index", shell.docs, "--quiet", "--effort", "none")
    assert n_waiting(shell) > 0
    arguments = ("--data-dir", shell.data_dir)
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(*arguments, environ=shell.environ)) for _ in range(2)]
        for client in clients:
            client.shake_hands()
        while n_waiting(shell):
            assert clients[0].call("search", query="note 7", mode="keyword")["structuredContent"]["hits"]
    with DocStore(shell.data_dir / "data.db").snapshot() as snapshot:
        runs = snapshot.runs.latest(10)
    assert [run.directories for run in runs][:-1] == [()] * (len(runs) - 1)
    assert len(runs) == 2, "one run of words, and one that embedded"


def test_a_server_that_has_no_index_yet_does_not_complain(shell: Shell) -> None:
    with RawClient(shell.docs, "--data-dir", shell.data_dir, environ=shell.environ) as client:
        client.shake_hands()
        client.call("server_info")
        client.process.terminate()
        assert client.process.stderr is not None
        assert b"cannot embed" not in client.process.stderr.read()


@pytest.mark.timeout(300)
def test_a_server_that_is_told_not_to_leaves_what_waits(shell: Shell) -> None:
    shell.environ["DIRINDEX_MONITORING__BACKGROUND_EMBEDDING"] = "false"
    shell.run("index", shell.docs, "--quiet", "--effort", "none")
    before = n_waiting(shell)
    with RawClient("--data-dir", shell.data_dir, environ=shell.environ) as client:
        client.shake_hands()
        while client.call("server_info")["structuredContent"]["model"]["state"] != "ready":
            pass
    assert n_waiting(shell) == before


@pytest.mark.timeout(300)
def test_a_change_is_found_while_a_watcher_goes_on_embedding(shell: Shell) -> None:
    for number in range(_N_FILES):
        shell.write(f"long{number}.md", f"# Long {number}\n\n" + f"Paragraph of topic {number}.\n\n" * 200)
    with watcher(shell) as process:
        while (run := _embedding_run(shell)) is None:
            assert process.poll() is None
        shell.write("new.md", "About quokkas.\n")
        while not shell.run("search", "quokkas", "--mode", "keyword", expect=None).stdout:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.wait(60)
    assert run["directories"] == [os.path.realpath(shell.docs)], "it embeds what it watches, and nothing else"


def _embedding_run(shell: Shell) -> dict[str, object] | None:
    """Give the run that embeds in the background, once there is one; what watches is another process."""
    told = shell.run("status", "--json", expect=None).stdout
    run: dict[str, object] = json.loads(told).get("run") or {}
    goes_on = run.get("state") == "running" and "in the background" in str(run.get("message"))
    return run if goes_on else None


@pytest.mark.timeout(300)
def test_a_watcher_makes_everything_complete_and_ends_its_embedding_with_itself(shell: Shell) -> None:
    with watcher(shell) as process:
        while not (shell.data_dir / "data.db").exists() or not shell.json("status")["chunks"]:
            assert process.poll() is None
        while n_waiting(shell):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.wait(60)
    shell.run("index", "--quiet", "--no-wait")
    with DocStore(shell.data_dir / "data.db").snapshot() as snapshot:
        assert {run.outcome for run in snapshot.runs.latest(10)} == {Outcome.COMPLETED}
