"""Budgets of the clients of `dirindex serve --http`: none takes from another, and the server stops listening at one."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

import pytest
from commands import DIRINDEX, run_command
from web_servers import MCP_HEADERS, WebServer, new_key

from directory_indexer.server.middleware.limits import MAX_REQUESTS_OF_KEY, RequestStage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_N_CONNECTIONS = 330
_PIECE = b"10000\r\n" + bytes(0x10000) + b"\r\n"
_MOST_TAKEN = 512 * len(_PIECE)
"""More than a server takes that stops to read, with all that the system keeps in between."""

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
_LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    (place / "docs").mkdir()
    (place / "docs/note.md").write_text("Carrots grow in the garden.\n")
    command: list[str | Path] = [DIRINDEX, "index", place / "docs", "--quiet", "--data-dir", place / "data"]
    run_command(command)
    return place / "data"


@pytest.fixture(scope="module")
def ann(data_dir: Path) -> str:
    return new_key(data_dir, "ann", "--right", "write")


@pytest.fixture(scope="module")
def bob(data_dir: Path) -> str:
    return new_key(data_dir, "bob")


@pytest.fixture(scope="module")
def watcher(data_dir: Path) -> str:
    return new_key(data_dir, "watcher", "--right", "metrics")


@pytest.fixture(scope="module")
def server(data_dir: Path, ann: str, bob: str, watcher: str) -> Iterator[WebServer]:
    assert all((ann, bob, watcher))
    with WebServer(data_dir, DIRINDEX_SERVING__REQUESTS_PER_SECOND="10000") as server:
        yield server


def _connected(server: WebServer, first_line: str, *headers: str, key: str = "") -> socket.socket:
    """Send a head by a connection of its own."""
    lines = [f"{first_line} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *headers]
    lines += [f"Authorization: Bearer {key}"] if key else []
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


def _answers(connection: socket.socket) -> str:
    """Read until the server closes."""
    pieces: list[bytes] = []
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65_536):
            pieces.append(piece)
    return b"".join(pieces).decode()


def _status(answer: str) -> int:
    return int(answer.split(" ", 2)[1])


@pytest.mark.parametrize("part", ["head", "body"])
def test_requests_of_one_key_that_were_sent_in_part_keep_no_other_from_being_answered(
    server: WebServer, ann: str, bob: str, part: str
) -> None:
    head = ["Content-Type: application/json", "Content-Length: 1000000"]
    with contextlib.ExitStack() as stack:
        for _ in range(_N_CONNECTIONS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            lines = ["POST /api/v1/search HTTP/1.1", f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {ann}"]
            whole = "\r\n".join([*lines, *head, "", '{"query": "'])
            connection.sendall((whole if part == "body" else whole[:-20]).encode())
        assert {server.search("carrots", key=bob).status for _ in range(20)} == {200}


def test_a_key_may_send_only_so_many_requests_in_part_at_once_and_others_in_whole(
    server: WebServer, ann: str, bob: str, watcher: str
) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(MAX_REQUESTS_OF_KEY[RequestStage.BODY]):
            connection = _connected(server, "POST /api/v1/search", "Content-Length: 1000", key=ann)
            stack.enter_context(connection)
        in_hand = f"dirindex_requests_in_hand {MAX_REQUESTS_OF_KEY[RequestStage.BODY] + 1}\n"
        while in_hand not in server.ask("GET", "/metrics", key=watcher).text:
            pass
        with _connected(server, "POST /api/v1/search", "Content-Length: 1000", key=ann) as further:
            answer = _answers(further)
        assert (_status(answer), "Retry-After: 1" in answer.title()) == (429, True)
        with _connected(server, "POST /api/v1/search", "Content-Length: 1000", key=bob) as other:
            other.sendall(b" " * 1000)
            assert other.recv(65_536).startswith(b"HTTP/1.1 4")
        assert server.ask("GET", "/api/v1/documents", key=ann).status == 200, "what has come whole is another matter"


@pytest.mark.parametrize(
    ("first_line", "length"),
    [
        ("POST /api/v1/search", 1_048_577),
        ("PUT /api/v1/files/large.md", 150_000_000),
        ("PUT /api/v1/files/large.md", 200_000_001),
        ("POST /mcp", 1_048_577),
        ("GET /health", 1_048_577),
    ],
)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_over_the_limit_of_its_operation_is_refused_and_no_longer_read(
    server: WebServer, ann: str, first_line: str, length: int, *, is_chunked: bool
) -> None:
    framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {length}"
    with _connected(server, first_line, framing, "Content-Type: application/json", key=ann) as connection:
        n_taken = 0
        with contextlib.suppress(OSError):
            while n_taken <= _MOST_TAKEN:
                connection.sendall(_PIECE)
                n_taken += len(_PIECE)
        assert n_taken < _MOST_TAKEN
        answer = _answers(connection)
    assert _status(answer) == 413
    assert "connection: close" in answer.lower()


def test_a_declared_length_over_the_limit_is_refused_before_a_byte_of_the_body(server: WebServer, ann: str) -> None:
    with _connected(server, "PUT /api/v1/files/large.md", "Content-Length: 150000000", key=ann) as connection:
        answer = _answers(connection)
    assert (_status(answer), "indexing.max_file_size" in answer) == (413, True)


@pytest.mark.parametrize("key", ["", "wrong"])
def test_a_refused_body_is_not_read_either(server: WebServer, key: str) -> None:
    with _connected(server, "POST /api/v1/search", "Transfer-Encoding: chunked", key=key) as connection:
        assert _status(_answers(connection)) == 401


@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 5"),
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: 5, 6",),
        ("Content-Length: 5", "Transfer-Encoding: identity"),
        ("Content-Length: 5", "Transfer-Encoding:"),
        ("Transfer-Encoding: gzip, chunked",),
        ("Content-Length: +5",),
        ("Content-Length: 5", "content-length:\t5", "transfer-encoding: CHUNKED"),
    ],
)
@pytest.mark.parametrize("path", ["POST /api/v1/search", "POST /health", "POST /mcp"])
def test_a_body_with_two_ends_is_refused_and_what_follows_is_no_request(
    server: WebServer, ann: str, path: str, headers: tuple[str, ...]
) -> None:
    with _connected(server, path, *headers, key=ann) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = _answers(connection)
    assert _status(answer) == 400
    assert answer.count("HTTP/1.1 ") == 1


@pytest.mark.parametrize("method", ["POST", "DELETE", "GET"])
def test_a_session_of_another_key_is_not_there(server: WebServer, ann: str, bob: str, method: str) -> None:
    opened = server.ask("POST", "/mcp", _INITIALIZE, key=ann, headers=MCP_HEADERS)
    session = {**MCP_HEADERS, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    body = _LIST if method == "POST" else None
    unknown = server.ask(method, "/mcp", body, key=bob, headers={**session, "Mcp-Session-Id": "0" * 32})
    foreign = server.ask(method, "/mcp", body, key=bob, headers=session)
    assert (foreign.status, foreign.text) == (unknown.status, unknown.text) == (404, unknown.text)
    assert server.ask("POST", "/mcp", _LIST, key=ann, headers=session).status == 200
    assert server.ask("DELETE", "/mcp", key=ann, headers=session).status == 200
