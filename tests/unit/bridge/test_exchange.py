from __future__ import annotations

import json
import shutil
import ssl
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import anyio
import pytest
from mcp import MCPError
from mcp.types import ListToolsRequest, ListToolsResult
from remote_servers import Loopback, request_of

from directory_indexer.core.errors import UnavailableError
from directory_indexer.server.bridge.http_client import (
    Backoff,
    HttpClient,
    HttpRequest,
    NoResponseError,
    parse_remote_address,
)
from directory_indexer.server.bridge.remote_server import RemoteServer

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

_TOKEN = "a-token-of-a-test-0123456789"  # noqa: S105 - of a test
_REQUEST = HttpRequest("GET", "/api/v1/collections")
_NEVER = Backoff(time_limit_seconds=0.0, first_seconds=1.0)


@pytest.fixture
def tls_identity(tmp_path: Path) -> ssl.SSLContext:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return context


def _saying(answer: bytes, heard: list[bytes] | None = None) -> Callable[[socket.socket], None]:
    def serve(client: socket.socket) -> None:
        request = request_of(client)
        if heard is not None:
            heard.append(request)
        client.sendall(answer)

    return serve


def _answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    head = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def _list(address: str) -> ListToolsResult:
    """List the tools of a server that is asked once."""
    with closing(HttpClient(parse_remote_address(address), _TOKEN, seconds=5)) as exchange:
        remote = RemoteServer(exchange, backoff=_NEVER)
        return anyio.run(remote.request, ListToolsRequest(), ListToolsResult, lambda _: None)


def _send(exchange: HttpClient) -> None:
    with closing(exchange):
        exchange.send(_REQUEST)


def _as_json(body: bytes, status: str = "200 OK") -> bytes:
    return _answer(body, status, "Content-Type: application/json")


def _result(result: object) -> bytes:
    """Return the response to the first request of a client."""
    return _as_json(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())


def test_the_token_goes_to_the_server_and_is_not_taken_elsewhere() -> None:
    elsewhere: list[bytes] = []
    heard: list[bytes] = []
    with Loopback(_saying(_answer(b"{}"), elsewhere)) as other:
        redirection = _answer(b"", "307 Temporary Redirect", f"Location: {other.url}/mcp")
        with (
            Loopback(_saying(redirection, heard)) as server,
            pytest.raises(UnavailableError, match="not followed"),
        ):
            _list(server.url)
    assert b"Bearer a-token-of-a-test" in heard[0]
    assert elsewhere == []


def test_an_answer_without_end_ends_at_the_limit() -> None:
    sent = 0

    def serve(client: socket.socket) -> None:
        nonlocal sent
        request_of(client)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            sent += client.send(bytes(100_000))

    with Loopback(serve) as server, pytest.raises(UnavailableError, match="more than 1,000,000 bytes"):
        _send(HttpClient(parse_remote_address(server.url), _TOKEN, max_answer_bytes=1_000_000))
    assert sent < 20_000_000


def test_a_head_without_end_is_no_answer() -> None:
    def serve(client: socket.socket) -> None:
        request_of(client)
        client.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            client.sendall(b"X-More: and more\r\n" * 100)

    with Loopback(serve) as server, pytest.raises(NoResponseError):
        _send(HttpClient(parse_remote_address(server.url), _TOKEN))


def test_a_server_that_goes_on_and_on_is_left_when_the_time_is_over() -> None:
    def serve(client: socket.socket) -> None:
        request_of(client)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
        while client.recv(1):  # until the client goes away
            pass

    with Loopback(serve) as server, pytest.raises(NoResponseError, match="takes too long"):
        _send(HttpClient(parse_remote_address(server.url), _TOKEN, seconds=0.2))


def test_the_tools_of_a_server_are_listed_as_it_describes_them() -> None:
    tool = {"name": "search", "inputSchema": {"type": "object"}, "new": {}}
    with Loopback(
        _saying(_result({"tools": [tool], "new": 1, "resultType": "complete", "ttlMs": 0, "cacheScope": "public"}))
    ) as server:
        assert [tool.name for tool in _list(server.url).tools] == ["search"]


@pytest.mark.parametrize(
    "answer",
    [
        _as_json(b""),
        _as_json(b"[]"),
        _as_json(b"null"),
        _as_json(b"{}"),
        _as_json(b"\xff\xfe"),
        _as_json(b"[" * 1_000_000),
        _as_json(b'{"jsonrpc": "2.0", "id": 1, "result": ' + b"9" * 5000 + b"}"),
        _as_json(b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "a bug"}}', "500 Internal Error"),
        _answer(b"<html>", "200 OK", "Content-Type: text/html"),
        _answer(b"data: {}\n\n", "200 OK", "Content-Type: text/event-stream"),
        _answer(b"data: " + b"a" * 2_000_000 + b"\n\n", "200 OK", "Content-Type: text/event-stream"),
        _answer(b"", "202 Accepted"),
        _result({"tools": {}}),
        _result({"tools": [1]}),
        _result({"tools": [{"name": 1, "inputSchema": {}}]}),
    ],
)
def test_an_answer_of_another_kind_is_an_error_and_no_bug(answer: bytes) -> None:
    with Loopback(_saying(answer)) as server, pytest.raises((UnavailableError, MCPError)):
        _list(server.url)


def test_a_server_that_repeats_the_token_does_not_bring_it_before_an_assistant() -> None:
    body = b'{"detail": "I was asked with Bearer ' + _TOKEN.encode() + b'"}'
    with (
        Loopback(_saying(_answer(body, "500 Internal Server Error"))) as server,
        pytest.raises(UnavailableError, match=r"with Bearer \*+$"),
    ):
        _list(server.url)


def test_a_packed_answer_is_not_unpacked() -> None:
    with (
        Loopback(_saying(_answer(b"x", "200 OK", "Content-Encoding: gzip"))) as server,
        pytest.raises(UnavailableError, match="compressed"),
    ):
        _list(server.url)


def test_a_refusal_of_any_length_is_told_briefly() -> None:
    body = b'{"error": "forbidden", "detail": "' + b"no! " * 100_000 + b'"}'
    with (
        Loopback(_saying(_answer(body, "500 Internal Server Error"))) as server,
        pytest.raises(UnavailableError) as refused,
    ):
        _list(server.url)
    assert len(refused.value.message) < 400


def test_a_name_that_stands_for_this_machine_must_lead_to_it() -> None:
    address = parse_remote_address("http://localhost:1")
    with pytest.raises(UnavailableError, match="is not this machine"):
        _send(HttpClient(address, _TOKEN, look_up=lambda *_: ["203.0.113.1"]))


def test_a_server_that_does_not_prove_who_it_is_gets_no_token(tls_identity: ssl.SSLContext) -> None:
    heard: list[bytes] = []

    def serve(client: socket.socket) -> None:
        with tls_identity.wrap_socket(client, server_side=True) as secured:
            heard.append(secured.recv(10_000))

    with Loopback(serve) as server:
        address = parse_remote_address(server.url.replace("http://", "https://"))
        with pytest.raises(UnavailableError, match="has no valid TLS certificate"):
            _send(HttpClient(address, _TOKEN))
    assert b"".join(heard) == b""
