"""Index runs over MCP, in the client library of the SDK: started, joined, cancelled, and resumed by another server."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from commands import DIRINDEX, run_command
from mcp import Client, StdioServerParameters
from serving import RawClient, text_of

from directory_indexer.config import load_config
from directory_indexer.core.lock import write_lock
from directory_indexer.core.paths import resolved_path
from directory_indexer.server import index_command
from directory_indexer.server.index_jobs import IndexJobs

if TYPE_CHECKING:
    from pathlib import Path

_N_FILES = 300


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a tree whose embedding takes a while."""
    for number in range(_N_FILES):
        file = tmp_path / f"docs/part{number % 7}/note{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        paragraphs = [f"Paragraph {n} of note {number} is about topic {number * n % 97}.\n\n" * 6 for n in range(4)]
        file.write_text(f"# Note {number}\n\n{''.join(paragraphs)}")
    return tmp_path


def parameters(tree: Path, *directories: Path) -> StdioServerParameters:
    arguments = ["serve", *map(str, directories), "--data-dir", str(tree / "data")]
    return StdioServerParameters(command=str(DIRINDEX), args=arguments, env=dict(os.environ))


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def status(tree: Path) -> dict[str, Any]:
    command: list[str | Path] = [DIRINDEX, "status", "--json", "--data-dir", tree / "data"]
    answer = json.loads(run_command(command).stdout)
    assert isinstance(answer, dict)
    return answer


def test_an_update_that_waited_while_its_directory_was_forgotten_does_not_track_it_again(tmp_path: Path) -> None:
    docs, data_dir = tmp_path / "docs", tmp_path / "data"
    docs.mkdir()
    (docs / "note.md").write_text("# Carrots\n\nOrange roots.\n")
    for verb in ("index", "forget"):
        run_command([DIRINDEX, verb, docs, "--quiet", "--data-dir", data_dir])
    command = index_command(load_config(file=None, data_dir=data_dir, environ={}))
    jobs = IndexJobs(command=command, runs=lambda _: (), running=lambda: None, is_locked=lambda: False)
    job = jobs.update((resolved_path(docs),))
    with job.output, job.errors:
        assert job.process.wait(timeout=100) == 0
    assert not status(tmp_path)["directories"]


@pytest.mark.slow
def test_a_tree_is_indexed_searched_meanwhile_and_the_run_resumed_after_a_restart(tree: Path) -> None:
    heard: list[list[float]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        assert (total, bool(message)) == (100, True)
        heard[-1].append(progress)

    async def first_server() -> None:
        async with Client(parameters(tree, tree / "docs")) as client:
            call = {"path": str(tree / "docs"), "wait_seconds": 0}
            job = await called(client, "index", **call)
            while job["phase"] != "embedding" or not job.get("chunks_done"):
                heard.append([])
                result = await client.call_tool("index", {**call, "wait_seconds": 1}, progress_callback=progress)
                job = result.structured_content or {}
                assert job["state"] in {"queued", "running"}
            await _search_and_read(client)
            assert (await called(client, "server_info"))["run"]["id"] == job["id"]

    anyio.run(first_server)
    assert any(heard)
    assert all(one == sorted(set(one)) for one in heard)
    anyio.run(_resume, parameters(tree))
    assert status(tree)["files"] == _N_FILES


async def _resume(server: StdioServerParameters) -> None:
    async with Client(server) as client:
        await _until_nobody_writes(client)
        info = await called(client, "server_info")
        assert info["run"]["state"] == "interrupted"
        assert 0 < info["index"]["embedded"] < info["index"]["chunks"]
        job = await called(client, "index", wait_seconds=50)
        while job["state"] not in {"completed", "failed"}:
            job = await called(client, "index", wait_seconds=50)
        assert (job["state"], job["counts"]["unchanged"]) == ("completed", _N_FILES)
        index = (await called(client, "server_info"))["index"]
        assert index["embedded"] == index["chunks"]


async def _search_and_read(client: Client) -> None:
    answer = await called(client, "search", query="note 42 about a topic", mode="keyword")
    assert answer["index"]["running"] is True
    hit = answer["hits"][0]
    content = await called(client, "get_content", path=hit["path"], start_line=hit["start_line"])
    assert content["text"]


@pytest.mark.slow
def test_a_run_is_seen_joined_and_cancelled(tree: Path) -> None:
    environ = dict(os.environ)
    with (
        RawClient(tree / "docs", "--data-dir", tree / "data", environ=environ) as owner,
        RawClient("--data-dir", tree / "data", environ=environ) as other,
    ):
        owner.shake_hands()
        other.shake_hands()
        started = owner.call("index", wait_seconds=0)["structuredContent"]
        while "id" not in started:
            started = owner.call("index", wait_seconds=0)["structuredContent"]
        joined = other.call("index", path=str(tree / "docs"), wait_seconds=0)["structuredContent"]
        assert (joined["id"], joined["joined"]) == (started["id"], True)
        assert status(tree)["run"]["directories"] == [str(tree / "docs")]
        cancelled = owner.call("index", action="cancel", wait_seconds=50)["structuredContent"]
        assert cancelled["state"] == "interrupted"
        again = owner.call("index", action="cancel")
        assert again["isError"] is True
        assert "index without action to start one" in text_of(again)


@pytest.mark.slow
def test_a_run_whose_server_was_killed_is_cancelled_by_another(tree: Path) -> None:
    environ = dict(os.environ)
    with RawClient(tree / "docs", "--data-dir", tree / "data", environ=environ) as owner:
        owner.shake_hands()
        started = owner.call("index", wait_seconds=0)["structuredContent"]
        while "id" not in started:
            started = owner.call("index", wait_seconds=0)["structuredContent"]
        owner.process.kill()
    with RawClient("--data-dir", tree / "data", environ=environ) as other:
        other.shake_hands()
        cancelled = other.call("index", action="cancel", wait_seconds=50)["structuredContent"]
        assert (cancelled["id"], cancelled["state"]) == (started["id"], "interrupted")
        assert "asked it to stop" in cancelled["message"]
        [directory] = other.call("server_info")["structuredContent"]["directories"]
        assert "indexed_at" not in directory
        assert other.call("index", wait_seconds=0)["structuredContent"]["state"] == "running"


def test_a_run_that_starts_waits_for_nobody_and_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/note.md").write_text("Carrots.\n")
    with RawClient(tmp_path / "docs", "--data-dir", tmp_path / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        first = client.call("index", wait_seconds=0)
        assert first["structuredContent"]["state"] == "running"
        names, words = set(), text_of(first)
        while (job := client.call("index", wait_seconds=1)["structuredContent"])["state"] == "running":
            names |= {job["id"]} if "id" in job else set()
        assert job["state"] == "completed"
        assert names <= {job["id"]}
        assert "starting" in words or f"{job['id']} of " in words  # it may have begun meanwhile
        done = client.call("index", wait_seconds=50)
        assert "1 unchanged" in text_of(done)
        assert "counted" not in text_of(client.call("server_info"))


def test_a_run_that_waits_says_for_whom(tmp_path: Path) -> None:
    for directory in ("docs", "data"):
        (tmp_path / directory).mkdir()
    with (
        RawClient(tmp_path / "docs", "--data-dir", tmp_path / "data", environ=dict(os.environ)) as client,
        write_lock(tmp_path / "data/write.lock", wait=True),
    ):
        client.shake_hands()
        job = client.call("index", wait_seconds=0)["structuredContent"]
        assert (job["state"], job["message"]) == ("queued", "another process is writing to the index")


@pytest.mark.parametrize("trouble", ["gone", "chunking"])
def test_a_run_that_fails_says_why_and_is_not_called_done_later(tmp_path: Path, trouble: str) -> None:
    docs, notes = tmp_path / "docs", tmp_path / "notes"
    for directory in (docs, notes):
        directory.mkdir()
        (directory / "note.md").write_text("Carrots.\n")
    run_command([DIRINDEX, "index", docs, notes, "--quiet", "--data-dir", tmp_path / "data"])
    environ = dict(os.environ)
    if trouble == "gone":
        notes.rename(tmp_path / "former")
    else:
        environ["DIRINDEX_INDEXING__CHUNK_SIZE"] = "100"
    with RawClient("--data-dir", tmp_path / "data", environ=environ) as client:
        client.shake_hands()
        failed = client.call("index", wait_seconds=50)
        reason = {"gone": str(notes), "chunking": "chunking was 256/0 tokens"}[trouble]
        assert failed["structuredContent"]["state"] == "failed"
        assert reason in failed["structuredContent"]["message"]
        assert reason in text_of(failed)
        later = client.call("server_info")["structuredContent"]["run"]
        assert (later["state"], reason in later["message"]) == ("failed", True)


@pytest.mark.slow
def test_a_call_that_is_cancelled_stops_its_run(tree: Path) -> None:
    with RawClient(tree / "docs", "--data-dir", tree / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        call = client.ask("tools/call", {"name": "index", "arguments": {"wait_seconds": 50}})
        while client.call("server_info")["structuredContent"].get("run", {}).get("state") != "running":
            assert client.process.poll() is None
        client.send({"method": "notifications/cancelled", "params": {"requestId": call}})
        while (job := client.call("server_info")["structuredContent"]["run"])["state"] == "running":
            assert client.process.poll() is None
    assert job["state"] == "interrupted"


@pytest.mark.slow
def test_a_run_outlives_a_server_that_is_killed_and_is_joined_by_the_next(tree: Path) -> None:
    with RawClient(tree / "docs", "--data-dir", tree / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        started = client.call("index", wait_seconds=0)["structuredContent"]
        while "id" not in started:
            started = client.call("index", wait_seconds=0)["structuredContent"]
        client.process.kill()
    with RawClient("--data-dir", tree / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        joined = client.call("index", path=str(tree / "docs"), wait_seconds=0)["structuredContent"]
        assert (joined["id"], joined["state"], joined["joined"]) == (started["id"], "running", True)
        while joined["id"] == started["id"] and joined["state"] == "running":
            joined = client.call("index", path=str(tree / "docs"), wait_seconds=50)["structuredContent"]
        assert joined["state"] == "completed"
        index = client.call("server_info")["structuredContent"]["index"]
        assert index["embedded"] == index["chunks"]


def test_a_directory_that_the_operator_did_not_allow_is_refused(tree: Path) -> None:
    with RawClient("--data-dir", tree / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        for arguments in ({}, {"path": str(tree / "docs")}, {"path": "/etc"}):
            result = client.call("index", **arguments)
            assert result["isError"] is True
            assert "dirindex serve DIRECTORY" in text_of(result)
        assert "call server_info" in text_of(client.call("search", query="x"))


def test_a_directory_that_the_configuration_allows_may_be_indexed(tree: Path) -> None:
    config = tree / "config.json"
    config.write_text(json.dumps({"serving": {"directories": ["docs"]}}))
    with RawClient("--config", config, "--data-dir", tree / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        assert client.call("server_info")["structuredContent"]["allowed"] == [str(tree / "docs")]
        job = client.call("index", path=str(tree / "docs/part0"), wait_seconds=0)["structuredContent"]
        assert job["directories"] == [str(tree / "docs/part0")]
        assert client.call("index", path=str(tree))["isError"] is True


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links cannot be refused there")
def test_what_was_allowed_when_a_client_asked_is_what_is_indexed_however_long_the_run_waits(tmp_path: Path) -> None:
    sub, private, data_dir = tmp_path / "allowed/sub", tmp_path / "private", tmp_path / "data"
    for directory in (sub, private, data_dir):
        directory.mkdir(parents=True)
        (directory / "a.md").write_text(f"What lies in {directory.name}.\n")
    with RawClient(tmp_path / "allowed", "--data-dir", data_dir, environ=dict(os.environ)) as client:
        client.shake_hands()
        with write_lock(data_dir / "write.lock", wait=True):
            client.call("index", path=str(sub), wait_seconds=0)
            sub.rename(tmp_path / "former")
            sub.symlink_to(private)
        while (job := client.call("server_info")["structuredContent"].get("run")) is None or job["state"] in {
            "queued",
            "running",
        }:
            assert client.process.poll() is None
        assert client.call("server_info")["structuredContent"]["directories"] == []


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links cannot be refused there")
def test_a_tracked_directory_that_became_a_link_is_not_followed_when_all_are_indexed(tmp_path: Path) -> None:
    docs, private = tmp_path / "docs", tmp_path / "private"
    for directory in (docs, private):
        directory.mkdir()
        (directory / "a.md").write_text(f"What lies in {directory.name}.\n")
    run_command([DIRINDEX, "index", docs, "--quiet", "--data-dir", tmp_path / "data"])
    docs.rename(tmp_path / "former")
    docs.symlink_to(private)
    with RawClient("--data-dir", tmp_path / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        job = client.call("index", wait_seconds=50)["structuredContent"]
        assert job["state"] == "failed"
        info = client.call("server_info")["structuredContent"]
        assert [directory["path"] for directory in info["directories"]] == [str(docs)]
        assert client.call("index", path=str(docs))["isError"] is True


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="names are Unicode there")
def test_a_directory_whose_name_is_not_utf_8_can_be_indexed_by_clients(tmp_path: Path) -> None:
    docs = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(docs)
    (tmp_path / os.fsdecode(docs) / "a.md").write_text("About penguins.\n")
    with RawClient(os.fsdecode(docs), "--data-dir", tmp_path / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        [allowed] = client.call("server_info")["structuredContent"]["allowed"]
        assert client.call("index", path="/elsewhere")["isError"] is True
        assert client.call("index", path=allowed, wait_seconds=50)["structuredContent"]["state"] == "completed"
        assert client.call("search", query="penguins")["structuredContent"]["hits"][0]["path"] == f"{allowed}/a.md"


@pytest.mark.slow
def test_watching_indexes_what_changes(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "one.md").write_text("The first note.\n")
    run_command([DIRINDEX, "index", docs, "--quiet", "--data-dir", tmp_path / "data"])
    with RawClient("--watch", "--data-dir", tmp_path / "data", environ=dict(os.environ)) as client:
        client.shake_hands()
        (docs / "two.md").write_text("Something about zeppelins.\n")
        while not client.call("search", query="zeppelins", mode="keyword")["structuredContent"]["hits"]:
            assert client.process.poll() is None


async def _until_nobody_writes(client: Client) -> None:
    while (await called(client, "server_info"))["run"]["state"] == "running":
        await anyio.lowlevel.checkpoint()
