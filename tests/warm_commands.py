"""The command without its start: a process with every module imported, whose forks run one command each.

Three quarters of the time of a short command are imports. A fork has what the process of a command has: its own memory,
environment, directory, streams and end. What is claimed of the start itself runs the installed command.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import pkgutil
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from functools import cache
from typing import TYPE_CHECKING, Any

if sys.platform != "win32":
    import fcntl
    import termios

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LIBRARIES = ("numpy", "onnxruntime", "qdrant_edge", "rich.console", "typer", "tree_sitter", "pydantic")
_FOR_FEW = re.compile(r"__main__|\.(azure|otlp|openai|ollama|cluster\w*|seven_zip)$")
"""Modules whose libraries take seconds to import, and few commands need."""

_LENGTH = struct.Struct("!I")
_POLL_SECONDS = 0.02
_MOST_READ = 100_000
_DECIDES_THE_START = ("PYTHON", "LC_", "LANG")


def is_warm(environ: Mapping[str, str]) -> bool:
    """Whether a command with this environment starts as this process did."""
    return hasattr(os, "fork") and _start_settings(environ) == _start_settings(os.environ)


class WarmCommand:
    """A command that runs in a fork, with three streams of whoever started it."""

    def __init__(self, words: Sequence[str], *, cwd: str, environ: Mapping[str, str], streams: Sequence[int]) -> None:
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(_forker())
        call = json.dumps({"words": words, "cwd": cwd, "environ": dict(environ)}).encode()
        socket.send_fds(self._connection, [_LENGTH.pack(len(call))], streams)
        self._connection.sendall(call)
        self.pid = int.from_bytes(_exactly(self._connection, 4), "big")

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, or None if the command goes on for longer."""
        self._connection.settimeout(seconds)
        try:
            code = int.from_bytes(_exactly(self._connection, 4), "big", signed=True)
        except (TimeoutError, BlockingIOError):
            return None
        self._connection.close()
        return code


def run_warm(
    words: Sequence[str], *, cwd: str, environ: Mapping[str, str], stdin: str = "", seconds: float, until: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """Run a command in a fork and return what it wrote; one that serves is told to end when it has written `until`.

    Raises:
        subprocess.TimeoutExpired: it took longer than `seconds`; it is killed.
    """
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        streams[0].write(stdin.encode())
        streams[0].seek(0)
        descriptors = [stream.fileno() for stream in streams]
        command = WarmCommand(words, cwd=cwd, environ=environ, streams=descriptors)
        code = _code_of(command, streams[2].fileno(), seconds, until)
        if code is None:
            os.kill(command.pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(words), seconds)
        for stream in streams:
            stream.seek(0)
        _, stdout, stderr = (stream.read().decode(errors="backslashreplace") for stream in streams)
    return subprocess.CompletedProcess(list(words), code, stdout, stderr)


def _code_of(command: WarmCommand, stderr: int, seconds: float, until: bytes) -> int | None:
    deadline = time.monotonic() + seconds
    while until and time.monotonic() < deadline:
        code = command.wait(_POLL_SECONDS)
        if code is not None:
            return code
        if until in os.pread(stderr, _MOST_READ, 0):
            with contextlib.suppress(ProcessLookupError):
                os.kill(command.pid, signal.SIGTERM)
            break
    return command.wait(max(0.001, deadline - time.monotonic()))


def _start_settings(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(_DECIDES_THE_START)}


@cache
def _forker() -> str:
    """Start the process that forks, once; it ends with this one, which holds its standard input."""
    address = os.path.join(tempfile.mkdtemp(), "commands")
    command = [sys.executable, __file__, address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(process.communicate)
    return address


def _exactly(connection: socket.socket, n_bytes: int) -> bytes:
    content = b""
    while len(content) < n_bytes:
        part = connection.recv(n_bytes - len(content))
        if not part:
            raise EOFError("the process that forks has ended")
        content += part
    return content


def main() -> None:
    """Import everything and fork a process for each connection, until standard input ends."""
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        if os.fork() == 0:
            _serve(listener)
        sys.stdin.buffer.read()
        os.killpg(0, signal.SIGTERM)


def _import_everything() -> None:
    import directory_indexer  # noqa: PLC0415 - this file is imported by tests, too

    ours = (module.name for module in pkgutil.walk_packages(directory_indexer.__path__, "directory_indexer."))
    for name in (*_LIBRARIES, *ours):
        if not _FOR_FEW.search(name):
            importlib.import_module(name)


def _serve(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _wait_for_command(connection)
        connection.close()


def _wait_for_command(connection: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    header, streams, _, _ = socket.recv_fds(connection, _LENGTH.size, 3)
    call = json.loads(_exactly(connection, *_LENGTH.unpack(header)))
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become(call, streams)
    for stream in streams:
        os.close(stream)
    connection.sendall(pid.to_bytes(4, "big"))
    _, status = os.waitpid(pid, 0)
    connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
    os._exit(0)


def _become(call: dict[str, Any], streams: list[int]) -> None:
    from directory_indexer.__main__ import start  # noqa: PLC0415 - this file is imported by tests, too

    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that ^C reaches it
    os.chdir(call["cwd"])
    os.environ.clear()
    os.environ.update(call["environ"])
    sys.argv[:] = call["words"]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, errors="backslashreplace")  # noqa: SIM115
    try:
        start()
    finally:
        os._exit(70)


if __name__ == "__main__":
    main()
