"""An index server that is killed while an assistant sends files to it by `serve --remote`, and starts again later."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from commands import DIRINDEX
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from teams import SECRET
from web_servers import WebServer, new_key

_SENT_BEFORE: Final = range(1, 4)
"""Files that are on their way when the server is killed; the first one was taken before."""
_SENT_WHILE_AWAY: Final = range(4, 6)
_SECONDS_AWAY: Final = 5
_COLLECTION: Final = "birds"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_files_sent_while_the_server_is_away_are_there_once_and_without_secrets(tmp_path: Path) -> None:
    place = _Place(tmp_path)
    with contextlib.closing(_Assistant(place)) as assistant:
        anyio.run(assistant.send_all)
        assert place.listed(assistant.server) == sorted(place.names)
        log = assistant.log + assistant.server.log()
        assert place.key not in log
        assert SECRET not in log
    assert assistant.n_waits


class _Place:
    """Data of a server, a key that may write to one collection, and files elsewhere, each with a secret."""

    def __init__(self, place: Path) -> None:
        self.there, self.here, self.documents = place / "there", place / "here", place / "documents"
        command: list[str | Path] = [DIRINDEX, "collection", "create", _COLLECTION, "--data-dir", self.there]
        subprocess.run(command, check=True, capture_output=True)
        self.key = new_key(self.there, "writer", "--right", "write", "--collection", _COLLECTION)
        self.token_file = place / "token"
        self.token_file.touch(0o600)
        self.token_file.write_text(self.key, encoding="utf-8")
        self.documents.mkdir()
        self.names = [f"bird{number}.md" for number in range(_SENT_WHILE_AWAY.stop)]
        for number, name in enumerate(self.names):
            text = f"# Bird {number}\n\n{word_of(number)} waits in the shallows.\ntoken: {SECRET}\n"
            (self.documents / name).write_text(text, encoding="utf-8")

    def listed(self, server: WebServer) -> list[str]:
        answer = server.ask("GET", f"/api/v1/documents?collection={_COLLECTION}", key=self.key)
        return sorted(document["filename"] for document in answer.json["documents"])


class _Assistant:
    """A client over MCP of `serve --remote`, and the server that it sends to."""

    def __init__(self, place: _Place) -> None:
        self._place = place
        self.server = WebServer(place.there)
        self.log = ""
        self.n_waits = 0

    def close(self) -> None:
        self.server.stop()

    async def send_all(self) -> None:
        at = ("--token-file", self._place.token_file, "--data-dir", self._place.here, self._place.documents)
        words = ("serve", "--remote", self.server.root, *map(str, at))
        async with Client(stdio_client(StdioServerParameters(command=str(DIRINDEX), args=list(words)))) as client:
            await self._send(client, 0)
            async with anyio.create_task_group() as sending:
                for number in _SENT_BEFORE:
                    sending.start_soon(self._send, client, number)
                await anyio.sleep(0.1)
                self.server.process.kill()
                for number in _SENT_WHILE_AWAY:
                    sending.start_soon(self._send, client, number)
                await anyio.sleep(_SECONDS_AWAY)
                await anyio.to_thread.run_sync(self._start_again)
            for number in range(_SENT_WHILE_AWAY.stop):
                await self._find(client, number)

    def _start_again(self) -> None:
        port = self.server.port
        self.log = self.server.log()
        self.server = WebServer(self._place.there, "--http", f"127.0.0.1:{port}")

    async def _send(self, client: Client, number: int) -> None:
        arguments = {"path": self._place.names[number], "collection": _COLLECTION}
        answer = await client.call_tool("convert_and_ingest", arguments, progress_callback=self._hear)
        assert not answer.is_error, f"{arguments['path']} was not taken: {answer.content}"

    async def _hear(self, progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG002 - the protocol of the client
        self.n_waits += 1

    async def _find(self, client: Client, number: int) -> None:
        arguments: dict[str, Any] = {"query": word_of(number), "collections": [_COLLECTION], "mode": "keyword"}
        answer = await client.call_tool("search", arguments)
        n_found = len((answer.structured_content or {}).get("hits", ()))
        assert n_found == 1, f"{word_of(number)} was found {n_found} times"
        assert SECRET not in str(answer), f"what is found of {word_of(number)} has a secret"


def word_of(number: int) -> str:
    """Return the word that one file alone has."""
    return f"word{number}zz"
