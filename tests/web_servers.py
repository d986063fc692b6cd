"""A `dirindex serve --http` process, and what it answers to plain requests."""

# ruff: noqa: S310 - the URLs are those of servers that the tests started

from __future__ import annotations

import json
import os
import re
import threading
import urllib.error
import urllib.parse
import urllib.request
from subprocess import PIPE
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from commands import DIRINDEX, run_command, start_command

if TYPE_CHECKING:
    from email.message import Message
    from pathlib import Path

MCP_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


class WebAnswer(NamedTuple):
    """What a server answered."""

    status: int
    text: str
    headers: Message

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class WebServer:
    """A server process and the URL of its MCP endpoint."""

    command: ClassVar[tuple[str, ...]] = ("serve", "--http", "127.0.0.1:0")
    is_cold: ClassVar[bool] = False

    def __init__(self, data_dir: Path, *options: str, **environ: str) -> None:
        command: list[str | Path] = [DIRINDEX, *self.command, "--data-dir", data_dir, *options]
        self.process = start_command(
            command, env={**os.environ, **environ}, stderr=PIPE, text=True, is_cold=self.is_cold
        )
        assert self.process.stderr is not None
        self._said: list[str] = []
        found = None
        while found is None:
            self._said.append(self.process.stderr.readline())
            assert self._said[-1], self._said
            found = re.search(r"http://\S+", self._said[-1])
        self.url = found[0]
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def root(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def port(self) -> int:
        return urllib.parse.urlsplit(self.url).port or 80

    def post(self, body: object = _LIST, **headers: str) -> tuple[int, str]:
        """Send a message of MCP."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = _answer(urllib.request.Request(self.url, content, {**MCP_HEADERS, **given}))
        return answer.status, answer.text

    def ask(
        self, method: str, path: str, body: object = None, *, key: str = "", headers: dict[str, str] | None = None
    ) -> WebAnswer:
        """Ask the API."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {key}"} if key else {}
        given |= {"Content-Type": "application/json"} if body is not None else {}
        request = urllib.request.Request(f"{self.root}{path}", content, {**given, **(headers or {})}, method=method)
        return _answer(request)

    def search(self, query: str, *, key: str = "", **arguments: object) -> WebAnswer:
        return self.ask("POST", "/api/v1/search", {"query": query, "mode": "keyword", **arguments}, key=key)

    def stop(self) -> int:
        """End the server as a service manager does."""
        self.process.terminate()
        code = self.process.wait(timeout=30)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    def log(self) -> str:
        """End the server, and give what it logged."""
        self.stop()
        return "".join(self._said)

    def _read(self) -> None:
        """Take what the server says: with nobody to take it, it would wait in the midst of an answer."""
        assert self.process.stderr is not None
        self._said += self.process.stderr


class ColdWebServer(WebServer):
    """A server that has imported what it needs itself."""

    is_cold = True


def new_key(data_dir: Path, name: str, *options: str) -> str:
    command: list[str | Path] = [DIRINDEX, "key", "new", name, *options, "--data-dir", data_dir]
    return run_command(command).stdout.strip()


def _answer(request: urllib.request.Request) -> WebAnswer:
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return WebAnswer(response.status, response.read().decode(), response.headers)
    except urllib.error.HTTPError as error:
        with error:
            return WebAnswer(error.code, error.read().decode(), error.headers)
