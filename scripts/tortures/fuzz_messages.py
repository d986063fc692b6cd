"""Messages that follow no protocol, over standard input and HTTP; the proper ones between them must be answered."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import re
import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

from tortures.contained import CHEAPLY, Containment, kill_group
from tortures.mutations import NUMBERS, STRINGS, mutated, smallest
from tortures.workbench import plant_small

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tortures.fuzz import Round

_N_MESSAGES = 400
_PING_EVERY = 20
_PATIENCE_SECONDS = 60.0
_ANSWER_SECONDS = 5.0
_INTERNAL_ERROR = -32603
_TOKEN = "a-token-of-a-torture-0123456789"  # noqa: S105 - of a torture
_HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "torture", "version": "1"}},
}
_READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
_PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}


def fuzz_mcp(this: Round) -> None:
    """Write messages to a server, and read what it answers."""
    _plant(this)
    messages = [_message(this.chance, this.place).replace(b"\n", b" ") for _ in range(_N_MESSAGES)]
    this.count(len(messages))
    _judge(this, messages, _complaint_over_stdio)


def fuzz_http(this: Round) -> None:
    """Send requests to a server, good ones with bad bodies and bad ones."""
    _plant(this)
    requests = [_request(this.chance, this.place) for _ in range(_N_MESSAGES // 2)]
    this.count(len(requests))
    _judge(this, requests, _complaint_over_http)


def _plant(this: Round) -> None:
    plant_small(this.place / "tree")
    (this.place / "token").write_text(_TOKEN, encoding="utf-8")
    (this.place / "token").chmod(0o600)
    Containment(this.place).run(*CHEAPLY, "index", this.place / "tree", "--quiet", "--data-dir", this.place / "data")


def _judge(this: Round, messages: list[bytes], complaint_of: Callable[[Path, Sequence[bytes]], str]) -> None:
    if complaint := complaint_of(this.place, messages):
        left = list(smallest(messages, lambda some: complaint_of(this.place, some) == complaint, seconds=90))
        if len(left) == 1:
            whole = left[0]
            left = [bytes(smallest(whole, lambda some: complaint_of(this.place, [bytes(some)]) == complaint))]
        this.broke(complaint, name="messages.txt", content=b"\n".join(left))


def _complaint_over_stdio(place: Path, messages: Sequence[bytes]) -> str:
    process = _Served(place)
    try:
        process.send(_HELLO)
        process.send(_READY)
        for start in range(0, len(messages), _PING_EVERY):
            for message in messages[start : start + _PING_EVERY]:
                process.send_bytes(message)
            if complaint := process.ping_complaint(f"ping {start}"):
                return complaint
        return process.end_complaint()
    except BrokenPipeError:
        return f"the server ended with {process.wait()}"
    finally:
        process.kill()


class _Served:
    """A server on standard input, with threads that read what it writes."""

    def __init__(self, place: Path) -> None:
        contained = Containment(place)
        self._process = subprocess.Popen(  # noqa: S603 - the program under test
            contained.command((*CHEAPLY, "serve", "--data-dir", place / "data")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=contained.environ(),
            cwd=place,
            start_new_session=True,
        )
        self._answers: queue.Queue[Any] = queue.Queue()
        self._errors: list[bytes] = []
        self._threads = [threading.Thread(target=read) for read in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def send(self, message: dict[str, Any]) -> None:
        self.send_bytes(json.dumps(message).encode())

    def send_bytes(self, content: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(content + b"\n")
        self._process.stdin.flush()

    def ping_complaint(self, name: str) -> str:
        """Wait for the answer to a proper message, and judge those that come before it."""
        self.send({**_PING, "id": name})
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until:
            try:
                answer = self._answers.get(timeout=max(until - time.monotonic(), 0.01))
            except queue.Empty:
                break
            if answer is None:
                return f"the server ended with {self.wait()}"
            if complaint := _answer_complaint(answer):
                return complaint
            if isinstance(answer, dict) and answer.get("id") == name:
                return ""
        return "the server does not answer"

    def end_complaint(self) -> str:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.close()
        try:
            code = self.wait()
        except subprocess.TimeoutExpired:
            return "the server does not end with its input"
        errors = b"".join(self._errors)
        if b"Traceback (most recent call last)" in errors or b"this is a bug" in errors:
            return "the server tells of a bug on standard error"
        return f"the server ends with {code}" if code else ""

    def wait(self) -> int:
        return self._process.wait(_PATIENCE_SECONDS)

    def kill(self) -> None:
        kill_group(self._process)
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]  # all are pipes

    def _read(self) -> None:
        for line in self._process.stdout or ():
            try:
                self._answers.put(json.loads(line))
            except ValueError:
                self._answers.put(line)
        self._answers.put(None)

    def _read_errors(self) -> None:
        self._errors += self._process.stderr or ()


def _answer_complaint(answer: Any) -> str:
    if isinstance(answer, bytes):
        return "standard output has what is no message"
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, dict) and error.get("code") == _INTERNAL_ERROR:
        return f"an internal error: {str(error.get('message'))[:60]}"
    result = answer.get("result") if isinstance(answer, dict) else None
    if isinstance(result, dict) and result.get("isError"):
        text = json.dumps(result.get("content"))
        if found := re.search(r"this is a bug|internal error|Traceback|\b[A-Z]\w+Error\b", text):
            return f"a tool fails with '{found[0]}'"
    return ""


def _complaint_over_http(place: Path, requests: Sequence[bytes]) -> str:
    contained = Containment(place)
    errors = place / "errors"
    words: tuple[str | Path, ...] = (*CHEAPLY, "serve", "--http", "127.0.0.1:0", "--token-file", place / "token")
    with errors.open("wb") as target:
        process = subprocess.Popen(  # noqa: S603 - the program under test
            contained.command((*words, "--data-dir", place / "data")),
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
    for start in range(0, len(requests), _PING_EVERY):
        complaints = (_status_complaint(port, request) for request in requests[start : start + _PING_EVERY])
        if complaint := next(filter(None, complaints), ""):
            return complaint
        if not _is_healthy(port):
            return "the server does not answer" if process.poll() is None else f"the server ended with {process.poll()}"
    return ""


def _complaint_of_end(process: subprocess.Popen[bytes], errors: Path) -> str:
    process.terminate()
    try:
        code = process.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return "the server does not end when it is told to"
    said = errors.read_bytes()
    if b"Traceback (most recent call last)" in said or b"this is a bug" in said:
        return "the server tells of a bug on standard error"
    return "" if code in {0, 143, -15} else f"the server ends with {code}"


def _port_in(errors: Path, process: subprocess.Popen[bytes]) -> int | None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(rb"http://127\.0\.0\.1:(\d+)", errors.read_bytes()):
            return int(found[1])
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
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_SECONDS)
            connection.request("GET", "/health")
            status = connection.getresponse().status
            connection.close()
            if status == http.HTTPStatus.OK:
                return True
        time.sleep(0.2)
    return False


def _message(chance: random.Random, place: Path) -> bytes:
    """Make a message of a method with arguments that fit or do not, then change its bytes or leave them."""
    method, params = chance.choice(_METHODS)(chance, place)
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": chance.choice((1, "a", 10**30, -1)),
        "method": method,
        "params": params,
    }
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        message[chance.choice(("jsonrpc", "id", "method", "params", "result", "error", "x"))] = _value(chance)
    if chance.random() < 0.1:  # noqa: PLR2004
        message.pop(chance.choice(("jsonrpc", "id", "params")))
    content = json.dumps([message] * 3 if chance.random() < 0.03 else message).encode()  # noqa: PLR2004
    return mutated(content, json.dumps(_HELLO).encode(), chance) if chance.random() < 0.3 else content  # noqa: PLR2004


def _value(chance: random.Random) -> Any:
    numbers = (-1, 0, 1, 2**31, 2**63, 10**400, 0.5, 1e308, float("nan"), float("inf"), True, None)
    text = chance.choice((*STRINGS, *NUMBERS))
    deep: Any = text
    for _ in range(chance.choice((1, 5, 300))):
        deep = [deep] if chance.random() < 0.5 else {text: deep}  # noqa: PLR2004
    return chance.choice((*numbers, text, text, text * 1000, [], {}, [text] * 50, deep))


def _call(chance: random.Random, place: Path) -> tuple[str, Any]:
    paths = [str(place / "tree"), str(place / "tree" / "docstore" / "schema.py"), "/", "..", "/proc/self/environ"]
    arguments: dict[str, dict[str, Any]] = {
        "search": {"query": "connection of a snapshot", "path": paths[0], "mode": "keyword", "limit": 5},
        "get_content": {"path": paths[1]},
        "similar_files": {"path": paths[1]},
        "server_info": {},
        "index": {"path": paths[3], "wait_seconds": 0},
    }
    name = chance.choice(list(arguments))
    given = arguments[name]
    further = (
        "query",
        "path",
        "mode",
        "limit",
        "cursor",
        "start_line",
        "end_line",
        "wait_seconds",
        "cancel",
        "types",
        "since",
    )
    for _ in range(chance.choice((0, 1, 1, 3))):
        value = chance.choice(paths) if chance.random() < 0.3 else _value(chance)  # noqa: PLR2004
        given[chance.choice((*given, *further))] = value
    return "tools/call", {"name": name if chance.random() < 0.95 else _value(chance), "arguments": given}  # noqa: PLR2004


def _read_resource(chance: random.Random, place: Path) -> tuple[str, Any]:
    target = place / "tree" / "docstore" / "schema.py"
    uris = (
        target.as_uri(),
        f"{target.as_uri()}#page=9",
        "file:///etc/passwd",
        "file://%00",
        "file:",
        "x:y",
        _value(chance),
    )
    return "resources/read", {"uri": chance.choice(uris)}


def _other(chance: random.Random, _: Path) -> tuple[str, Any]:
    methods = (
        *("initialize", "ping", "tools/list", "resources/list", "resources/templates/list", "resources/subscribe"),
        *("prompts/list", "prompts/get", "logging/setLevel", "completion/complete", "sampling/createMessage"),
        *(
            "notifications/cancelled",
            "notifications/progress",
            "notifications/initialized",
            "server/discover",
            "",
            "rpc.x",
        ),
    )
    names = (
        "cursor",
        "uri",
        "name",
        "level",
        "requestId",
        "progressToken",
        "_meta",
        "ref",
        "argument",
        "protocolVersion",
    )
    return chance.choice(methods), {name: _value(chance) for name in chance.sample(names, 2)}


_METHODS: tuple[Callable[[random.Random, Path], tuple[str, Any]], ...] = (_call, _call, _read_resource, _other)

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
    body = _message(chance, place)
    headers = ["Host: 127.0.0.1:PORT", "Content-Type: application/json", "Accept: application/json, text/event-stream"]
    headers += [f"Authorization: Bearer {_TOKEN}", f"Content-Length: {len(body)}"]
    line = _LINES[0]
    if chance.random() < 0.6:  # noqa: PLR2004
        line = chance.choice(_LINES)
        headers += chance.sample(_HEADERS, chance.choice((0, 1, 3)))
    head = "\r\n".join([line, *headers]).encode() + b"\r\n\r\n"
    if chance.random() < 0.2:  # noqa: PLR2004
        head = mutated(head, body, chance)
    return head + body
