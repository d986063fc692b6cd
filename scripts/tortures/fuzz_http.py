"""HTTP requests, good ones with bad bodies and bad ones; the proper ones between them must be answered."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import subprocess
import time
from typing import TYPE_CHECKING

from tortures.contained import CHEAPLY, Containment, bug_in, kill_group
from tortures.fuzz_messages import N_MESSAGES, PATIENCE_SECONDS, PING_EVERY, TOKEN, judge, message, plant_index
from tortures.mutations import mutated

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

    from tortures.fuzz import Round

_ANSWER_SECONDS = 1.0


def fuzz_http(this: Round) -> None:
    """Send requests to a server, good ones with bad bodies and bad ones."""
    plant_index(this)
    requests = [_request(this.chance, this.place) for _ in range(N_MESSAGES // 2)]
    this.count(len(requests))
    judge(this, requests, _complaint_over_http)


def _complaint_over_http(place: Path, requests: Sequence[bytes]) -> str:
    contained = Containment(place)
    errors = place / "errors"
    words: tuple[str | Path, ...] = (*CHEAPLY, "serve", "--http", "127.0.0.1:0", "--token-file", place / "token")
    with errors.open("wb") as target:
        process = subprocess.Popen(  # noqa: S603 - the program under test
            contained.command((*words, "--data-dir", place / "data")),
            stdout=subprocess.DEVNULL,
            stderr=target,
            env=contained.environ(),
            cwd=place,
            start_new_session=True,
        )
    try:
        return _complaint_of_requests(process, errors, requests) or _complaint_of_end(process, errors)
    finally:
        kill_group(process)
        process.wait()


def _complaint_of_requests(process: subprocess.Popen[bytes], errors: Path, requests: Sequence[bytes]) -> str:
    port = _port_in(errors, process)
    if port is None:
        return "the server does not start"
    for start in range(0, len(requests), PING_EVERY):
        complaints = (_status_complaint(port, request) for request in requests[start : start + PING_EVERY])
        if complaint := next(filter(None, complaints), ""):
            return complaint
        if not _is_healthy(port):
            return "the server does not answer" if process.poll() is None else f"the server ended with {process.poll()}"
    return ""


def _complaint_of_end(process: subprocess.Popen[bytes], errors: Path) -> str:
    process.terminate()
    try:
        code = process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return "the server does not end when it is told to"
    if bug := bug_in(errors.read_bytes()):
        return f"the server says '{bug}' on standard error"
    return "" if code in {0, 143, -15} else f"the server ends with {code}"


def _port_in(errors: Path, process: subprocess.Popen[bytes]) -> int | None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if match := re.search(rb"http://127\.0\.0\.1:(\d+)", errors.read_bytes()):
            return int(match[1])
        time.sleep(0.05)
    return None


def _status_complaint(port: int, request: bytes) -> str:
    """Send the bytes of a request, and read the first line of what comes back, if anything does."""
    answer = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_SECONDS) as client:
        client.sendall(request.replace(b"PORT", b"%d" % port))
        client.shutdown(socket.SHUT_WR)
        answer = client.recv(65536)
    if answer.startswith(b"HTTP/1.1 500"):
        return "an answer of 500"
    if b'"code":-32603' in answer.replace(b" ", b""):
        return "an internal error over HTTP"
    return ""


def _is_healthy(port: int) -> bool:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
            connection.request("GET", "/health")
            status = connection.getresponse().status
            connection.close()
            if status == http.HTTPStatus.OK:
                return True
        time.sleep(0.2)
    return False


_LINES = (
    *("POST /mcp HTTP/1.1", "GET /mcp HTTP/1.1", "DELETE /mcp HTTP/1.1", "GET /health HTTP/1.1", "OPTIONS * HTTP/1.1"),
    *("POST /mcp HTTP/1.0", "POST http://127.0.0.1:PORT/mcp HTTP/1.1", "CONNECT a:1 HTTP/1.1", "PRI * HTTP/2.0"),
    *(
        "GET /" + "a" * 70_000 + " HTTP/1.1",
        "POST /mcp?x=%00 HTTP/1.1",
        "POST //mcp/../mcp HTTP/1.1",
        "HEAD /health HTTP/1.1",
    ),
)
_HEADERS = (
    *("Content-Type: text/plain", "Content-Type: application/json; charset=utf-16", "Accept: */*", "Accept: text/html"),
    *("Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: 0", "Transfer-Encoding: chunked"),
    *("Transfer-Encoding: gzip, chunked", "Expect: 100-continue", "Upgrade: websocket", "Origin: http://evil.example"),
    *(
        "Mcp-Session-Id: x",
        "Mcp-Session-Id: " + "a" * 9000,
        "MCP-Protocol-Version: 1",
        "Last-Event-ID: 1",
        "Host: evil.example",
    ),
    *(
        "Authorization: Basic eA==",
        "Authorization: Bearer",
        "Cookie: " + "a=b; " * 3000,
        "A" * 5000 + ": b",
        ": x",
        "x",
        "X:\x00",
    ),
    *("Content-Encoding: gzip", "Connection: upgrade", "Range: bytes=0-", "X-Forwarded-For: 1", "Host:"),
)


def _request(chance: random.Random, place: Path) -> bytes:
    body = message(chance, place)
    headers = ["Host: 127.0.0.1:PORT", "Content-Type: application/json", "Accept: application/json, text/event-stream"]
    headers += [f"Authorization: Bearer {TOKEN}", f"Content-Length: {len(body)}"]
    line = _LINES[0]
    if chance.random() < 0.6:  # noqa: PLR2004
        line = chance.choice(_LINES)
        headers += chance.sample(_HEADERS, chance.choice((0, 1, 3)))
    head = "\r\n".join([line, *headers]).encode() + b"\r\n\r\n"
    if chance.random() < 0.2:  # noqa: PLR2004
        head = mutated(head, body, chance)
    return head + body
