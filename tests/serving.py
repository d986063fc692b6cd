"""A client of `dirindex serve` that speaks raw JSON-RPC, so that tests see every byte of standard output."""

from __future__ import annotations

import json
import queue
import threading
from subprocess import PIPE
from typing import TYPE_CHECKING, Any, Self

from commands import DIRINDEX, start_command

if TYPE_CHECKING:
    import os
    from pathlib import Path

PATIENCE_SECONDS = 60

JsonObject = dict[str, Any]


class RawClient:
    """One server process, and everything that it wrote to standard output."""

    def __init__(
        self,
        *arguments: str | os.PathLike[str],
        environ: dict[str, str],
        directory: Path | None = None,
        is_cold: bool = False,
    ) -> None:
        command = [DIRINDEX, "serve", *arguments]
        self.process = start_command(
            command, env=environ, cwd=directory, is_cold=is_cold, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        self.lines: list[str] = []
        self._received: queue.Queue[JsonObject | None] = queue.Queue()
        self._waiting: list[JsonObject] = []
        self._last_id = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def shake_hands(self, version: str = "2025-11-25") -> JsonObject:
        answer = self.request(
            "initialize",
            {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
        )
        self.send({"method": "notifications/initialized"})
        return answer

    def request(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """Ask and wait for the answer; whatever else comes meanwhile is kept in `notifications`."""
        return self.answer_to(self.ask(method, params))

    def ask(self, method: str, params: JsonObject | None = None) -> int:
        self._last_id += 1
        self.send({"id": self._last_id, "method": method, "params": params or {}})
        return self._last_id

    def answer_to(self, request_id: int) -> JsonObject:
        while True:
            for message in self._waiting:
                if message.get("id") == request_id:
                    self._waiting.remove(message)
                    return message
            received = self._received.get(timeout=PATIENCE_SECONDS)
            assert received is not None, f"the server ended: {self.process.stderr and self.process.stderr.read()!r}"
            self._waiting.append(received)

    def next_request(self, method: str) -> JsonObject:
        """Wait until the server asks for something itself."""
        while True:
            for message in self._waiting:
                if message.get("method") == method and "id" in message:
                    self._waiting.remove(message)
                    return message
            received = self._received.get(timeout=PATIENCE_SECONDS)
            assert received is not None, "the server ended"
            self._waiting.append(received)

    def call(self, tool: str, /, **arguments: Any) -> JsonObject:
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in answer, answer
        result = answer["result"]
        assert isinstance(result, dict)
        return result

    @property
    def notifications(self) -> list[JsonObject]:
        return [message for message in self._waiting if "id" not in message]

    def send(self, message: JsonObject) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def send_bytes(self, content: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(content)
        self.process.stdin.flush()

    def end_input(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.decode())
            self._received.put(json.loads(line))
        self._received.put(None)


def text_of(result: JsonObject) -> str:
    return str(result["content"][0]["text"])
