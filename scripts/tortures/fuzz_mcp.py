"""Messages that follow no protocol on standard input; the proper ones between them must be answered."""

from __future__ import annotations

import contextlib
import json
import queue
import re
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

from tortures.contained import CHEAPLY, Containment, bug_in, kill_group
from tortures.fuzz_messages import HELLO, N_MESSAGES, PATIENCE_SECONDS, PING_EVERY, judge, message, plant_index

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tortures.fuzz import Round

_INTERNAL_ERROR = -32603
_READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
_PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}


def fuzz_mcp(this: Round) -> None:
    """Write messages to a server, and read what it answers."""
    plant_index(this)
    messages = [message(this.chance, this.place).replace(b"\n", b" ") for _ in range(N_MESSAGES)]
    this.count(len(messages))
    judge(this, messages, _complaint_over_stdio)


def _complaint_over_stdio(place: Path, messages: Sequence[bytes]) -> str:
    process = _Served(place)
    try:
        process.send(HELLO)
        process.send(_READY)
        for start in range(0, len(messages), PING_EVERY):
            for message in messages[start : start + PING_EVERY]:
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
        until = time.monotonic() + PATIENCE_SECONDS
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
        if bug := bug_in(errors):
            return f"the server says '{bug}' on standard error"
        return f"the server ends with {code}" if code else ""

    def wait(self) -> int:
        return self._process.wait(PATIENCE_SECONDS)

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
        if match := re.search(r"this is a bug|internal error|Traceback|\b[A-Z]\w+Error\b", text):
            return f"a tool fails with '{match[0]}'"
    return ""
