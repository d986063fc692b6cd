"""`dirindex serve --http`: who is let in, what is refused, and the protocol over it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from commands import DIRINDEX, run_command
from mcp import Client
from web_servers import MCP_HEADERS, ColdWebServer, WebServer

from directory_indexer.core.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a-token-of-a-test-0123456789"  # noqa: S105 - of a test
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    (place / "docs").mkdir()
    (place / "docs/note.md").write_text("Carrots grow in the garden.\n")
    run_command([DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"])
    return place / "data"


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[WebServer]:
    server = ColdWebServer(data_dir, "--no-token")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def guarded(data_dir: Path) -> Iterator[WebServer]:
    server = WebServer(data_dir, DIRINDEX_TOKEN=TOKEN)
    yield server
    server.stop()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_searches_in_both_protocols(server: WebServer, mode: Any) -> None:
    async def session() -> None:
        async with Client(server.url, mode=mode) as client:
            assert len((await client.list_tools()).tools) == 17
            result = await client.call_tool("search", {"query": "carrots", "mode": "keyword"})
            assert isinstance(result.structured_content, dict)
            assert len(result.structured_content["hits"]) == 1

    anyio.run(session)


def test_many_calls_at_once_are_all_answered(server: WebServer) -> None:
    async def session() -> None:
        async with Client(server.url) as client, anyio.create_task_group() as tasks:

            async def call() -> None:
                result = await client.call_tool("search", {"query": "carrots", "mode": "keyword"})
                assert not result.is_error

            for _ in range(40):
                tasks.start_soon(call)

    anyio.run(session)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1:1"])
def test_a_page_that_resolves_its_name_to_this_machine_is_refused(server: WebServer, host: str) -> None:
    assert server.post(Host=host)[0] == 421


def test_names_are_compared_without_regard_to_case(server: WebServer) -> None:
    port = server.url.rpartition(":")[2].partition("/")[0]
    assert server.post(_INITIALIZE, Host=f"LOCALHOST:{port}")[0] == 200


def test_nobody_is_sent_to_an_address_that_the_request_names(server: WebServer) -> None:
    elsewhere = {"Host": "evil.example", "X-Forwarded-Proto": "https"}
    assert server.ask("POST", "/mcp/", _INITIALIZE, headers=MCP_HEADERS | elsewhere).status == 421
    assert server.ask("POST", "/mcp/", _INITIALIZE, headers=MCP_HEADERS).status == 200
    assert server.ask("GET", "/health/").status == 404


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1", "null", "file://"])
def test_a_page_of_another_origin_is_refused(server: WebServer, origin: str) -> None:
    assert server.post(Origin=origin)[0] == 403


def test_a_request_that_is_too_long_is_refused(server: WebServer) -> None:
    assert server.post(b"[]", Content_Length="2000000")[0] == 413


def test_a_form_of_a_web_page_is_refused(server: WebServer) -> None:
    assert server.post(Content_Type="text/plain")[0] in {400, 415}


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN])
def test_nobody_gets_in_without_the_token(guarded: WebServer, given: str) -> None:
    assert guarded.post(Authorization=given)[0] == 401


def test_the_token_lets_in(guarded: WebServer) -> None:
    status, text = guarded.post(_INITIALIZE, Authorization=f"Bearer {TOKEN}")
    assert (status, "dirindex" in text) == (200, True)


def _status(server: WebServer, client: str, token: str) -> int:
    """Ask as a proxy does that was asked from `client`."""
    return server.ask("GET", "/api/v1/collections", key=token, headers={"X-Forwarded-For": client}).status


def test_a_guess_of_a_key_has_no_address_of_its_own_because_it_says_so(data_dir: Path) -> None:
    with WebServer(data_dir, DIRINDEX_TOKEN=TOKEN) as server:
        assert {_status(server, f"192.0.2.{number}", "guess") for number in range(32)} == {401, 429}


def test_behind_a_proxy_that_is_believed_one_who_guesses_holds_up_nobody_else(data_dir: Path) -> None:
    with WebServer(data_dir, DIRINDEX_TOKEN=TOKEN, DIRINDEX_SERVING__PROXIES="127.0.0.0/8") as server:
        # What stands before the end the client has written: it is no way to be taken for somebody else.
        assert {_status(server, f"192.0.2.{number}, 198.51.100.7", "guess") for number in range(32)} == {401, 429}
        assert _status(server, "198.51.100.7", TOKEN) == 429
        assert _status(server, "192.0.2.1", TOKEN) == 200


def test_the_health_page_needs_no_token_and_tells_nothing_of_the_index(guarded: WebServer) -> None:
    answer = guarded.ask("GET", "/health")
    assert answer.status == 200
    assert set(answer.json) == {"status", "name", "version"}


def test_other_machines_are_not_served_without_a_token(data_dir: Path) -> None:
    command: list[str | Path] = [DIRINDEX, "serve", "--http", "0.0.0.0:0", "--data-dir", data_dir]
    done = run_command(command, check=False)
    assert done.returncode == 2
    assert "there is no token" in done.stderr


def test_other_users_are_not_served_without_a_token(data_dir: Path) -> None:
    command: list[str | Path] = [DIRINDEX, "serve", "--http", "127.0.0.1:0", "--data-dir", data_dir]
    done = run_command(command, check=False)
    assert done.returncode == 2
    assert "--no-token" in done.stderr


@pytest.mark.parametrize(("option", "has_token"), [((), True), (("--no-token",), False)])
def test_a_client_is_told_to_give_the_token_that_the_server_will_ask_for(
    data_dir: Path, option: tuple[str, ...], *, has_token: bool
) -> None:
    words: list[str | Path] = ["--http", "127.0.0.1:8765", *option, "--print-config", "cursor", "--data-dir", data_dir]
    done = run_command([DIRINDEX, "serve", *words])
    assert ("Bearer TOKEN" in done.stdout) is has_token


def _printed(data_dir: Path, *words: str | Path, expect: int = 0, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [DIRINDEX, "serve", *words, "--print-config", "cursor", "--data-dir", data_dir]
    environment = {**os.environ, **environ}
    done = run_command(command, check=False, env=environment)
    assert done.returncode == expect, done.stderr
    return done


@pytest.mark.parametrize(("names", "host"), [((), socket.gethostname()), (("--allow-host", "nas.local"), "nas.local")])
def test_clients_of_a_server_on_every_address_are_told_a_name_that_it_answers_to(
    data_dir: Path, names: tuple[str, ...], host: str
) -> None:
    printed = json.loads(_printed(data_dir, "--http", "0.0.0.0:8765", *names).stdout)
    assert printed["mcpServers"]["dirindex"]["url"] == f"http://{host}:8765/mcp"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--http", "127.0.0.1:0"), "a new port at every start"),
        (("--http", "0.0.0.0:8765", "--no-token"), "there is no token"),
        (("/nowhere/at/all",), "no such directory: /nowhere/at/all"),
    ],
)
def test_no_configuration_is_printed_that_cannot_work(data_dir: Path, words: tuple[str, ...], reason: str) -> None:
    refused = _printed(data_dir, *words, expect=2)
    assert reason in refused.stderr
    assert not refused.stdout


def test_the_command_that_clients_of_a_url_need_is_told_whole(data_dir: Path) -> None:
    docs = data_dir.parent / "docs"
    told = _printed(data_dir, docs, "--watch", "--http", "127.0.0.1:8765", "--allow-host", "nas.local").stderr
    options = f"--data-dir {data_dir} --http 127.0.0.1:8765 --allow-host nas.local --token-file FILE"
    assert f"serve {docs} --watch {options}" in told


def test_variables_that_a_client_will_not_set_are_named_without_their_values(data_dir: Path) -> None:
    done = _printed(data_dir, DIRINDEX_EMBEDDING__API_KEY="a-secret")
    assert "DIRINDEX_EMBEDDING__API_KEY" in done.stderr
    assert "a-secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n{",
    ],
)
def test_connections_that_stay_in_the_middle_of_a_request_keep_nobody_out(guarded: WebServer, sent: bytes) -> None:
    port = int(guarded.url.rpartition(":")[2].partition("/")[0])
    with contextlib.ExitStack() as stack:
        for _ in range(510):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            with contextlib.suppress(OSError):
                connection.sendall(sent)
        assert guarded.ask("GET", "/health").status == 200
        assert guarded.post(Authorization=f"Bearer {TOKEN}", MCP_Protocol_Version="2026-07-28")[0] != 503


def test_sessions_that_were_left_give_way_to_new_ones(guarded: WebServer) -> None:
    opened = [guarded.post(_INITIALIZE, Authorization=f"Bearer {TOKEN}")[0] for _ in range(210)]
    assert set(opened) == {200}


def test_a_port_that_is_taken_is_said_to_be(server: WebServer, data_dir: Path) -> None:
    port = server.url.rpartition(":")[2].partition("/")[0]
    command: list[str | Path] = [DIRINDEX, "serve", "--http", f"127.0.0.1:{port}", "--no-token", "--data-dir", data_dir]
    done = run_command(command, check=False)
    assert done.returncode == 3
    assert "cannot listen" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_signal_ends_the_server(data_dir: Path) -> None:
    assert WebServer(data_dir, "--no-token").stop() == 128 + signal.SIGTERM


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_call_in_flight_is_answered_when_a_signal_ends_the_server(data_dir: Path) -> None:
    server = WebServer(data_dir, "--no-token")

    async def stop(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 - named by the SDK
        server.process.terminate()

    async def session() -> None:
        async with Client(server.url) as client:
            await client.list_tools()  # the client would ask for them after the answer, to check it
            result = await client.call_tool("index", {"wait_seconds": 50}, progress_callback=stop)
            assert isinstance(result.structured_content, dict)
            assert result.structured_content["state"] == "interrupted"

    lock = try_lock(data_dir / "write.lock", exclusive=True)
    assert lock is not None
    with lock:
        anyio.run(session)
        assert server.stop() == 128 + signal.SIGTERM


_WITH_TOKEN = f"POST /mcp HTTP/1.1\r\nAuthorization: Bearer {TOKEN}"


@pytest.mark.parametrize(
    "head",
    [
        *("GET /health", "HEAD /health", "POST /mcp", f"{_WITH_TOKEN}\r\nX: "),
        *(
            f"{_WITH_TOKEN}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            f"MCP-Protocol-Version: {version}\r\nX: "
            for version in ("2025-11-25", "2099-01-01")
        ),
    ],
)
def test_a_body_that_is_not_what_it_calls_itself_leaves_no_traceback(data_dir: Path, head: str) -> None:
    server = WebServer(data_dir, DIRINDEX_TOKEN=TOKEN)
    host = server.url.split("/")[2]
    address, port = host.split(":")
    with socket.create_connection((address, int(port))) as connection:
        sent = f"{head} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n{'x' * 100_000}"
        with contextlib.suppress(OSError):
            connection.sendall(sent.encode())
            while connection.recv(65_536):
                pass
    assert server.ask("GET", "/health").status == 200
    assert "Traceback" not in server.log()
