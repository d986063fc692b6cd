"""Kills an index server while an assistant sends files to it by `serve --remote`, and starts it again much later."""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from serving import DIRINDEX
from teams import SECRET
from web_servers import WebServer, new_key

if TYPE_CHECKING:
    from tortures.workbench import Torture

_SENT_BEFORE: Final = range(1, 4)
"""Files that are on their way when the server is killed; the first one was taken before."""
_SENT_WHILE_AWAY: Final = range(4, 6)
_COLLECTION: Final = "birds"


def away(torture: Torture) -> str:
    """Send six files, with the server away for `size` seconds amid them; each must be there once, and no secret."""
    place = _Place(torture.place)
    with contextlib.closing(_Assistant(torture, place)) as assistant:
        anyio.run(assistant.send_all)
        torture.require(place.listed(assistant.server) == sorted(place.names), "not each document is there once")
        log = assistant.log + assistant.server.log()
        torture.require(place.key not in log and SECRET not in log, "the log of a server has a key or a secret")
    return (
        f"{len(place.names)} files sent, the server killed and away for {assistant.seconds_away:.0f} s;"
        f" {assistant.n_waits} waits told, the last answer {assistant.seconds_late:.0f} s after it was back"
    )


class _Place:
    """Data of a server, a key that may write to one collection, and files elsewhere, each with a secret."""

    def __init__(self, place: Path) -> None:
        self.there, self.here, self.documents = place / "there", place / "here", place / "documents"
        command: list[str | Path] = [DIRINDEX, "collection", "create", _COLLECTION, "--data-dir", self.there]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - ours
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

    def __init__(self, torture: Torture, place: _Place) -> None:
        self._torture, self._place = torture, place
        self.server = WebServer(place.there)
        self.log = ""
        self.n_waits = 0
        self.seconds_away = self.seconds_late = 0.0

    def close(self) -> None:
        self.server.stop()

    async def send_all(self) -> None:
        words = ("serve", "--remote", self.server.root, "--token-file", self._place.token_file)
        words = tuple(map(str, (*words, "--data-dir", self._place.here, self._place.documents)))
        async with Client(stdio_client(StdioServerParameters(command=str(DIRINDEX), args=list(words)))) as client:
            await self._send(client, 0)
            async with anyio.create_task_group() as sending:
                for number in _SENT_BEFORE:
                    sending.start_soon(self._send, client, number)
                await anyio.sleep(self._torture.chance.uniform(0, 0.3))
                killed = time.monotonic()
                self.server.process.kill()
                for number in _SENT_WHILE_AWAY:
                    sending.start_soon(self._send, client, number)
                await anyio.sleep(self._torture.size)
                await anyio.to_thread.run_sync(self._start_again)
                back = time.monotonic()
            self.seconds_away, self.seconds_late = back - killed, time.monotonic() - back
            for number in range(_SENT_WHILE_AWAY.stop):
                await self._find(client, number)

    def _start_again(self) -> None:
        port = self.server.port
        self.log = self.server.log()
        self.server = WebServer(self._place.there, "--http", f"127.0.0.1:{port}")

    async def _send(self, client: Client, number: int) -> None:
        arguments = {"path": self._place.names[number], "collection": _COLLECTION}
        answer = await client.call_tool("convert_and_ingest", arguments, progress_callback=self._hear)
        self._torture.require(not answer.is_error, f"{arguments['path']} was not taken: {answer.content}")

    async def _hear(self, *_: object) -> None:
        self.n_waits += 1

    async def _find(self, client: Client, number: int) -> None:
        arguments: dict[str, Any] = {"query": word_of(number), "collections": [_COLLECTION], "mode": "keyword"}
        answer = await client.call_tool("search", arguments)
        n_found = len((answer.structured_content or {}).get("hits", ()))
        self._torture.require(n_found == 1, f"{word_of(number)} was found {n_found} times")
        self._torture.require(SECRET not in str(answer), f"what is found of {word_of(number)} has a secret")


def word_of(number: int) -> str:
    """Return the word that one file alone has."""
    return f"word{number}zz"
