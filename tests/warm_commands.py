"""The command without its start: a process with every module imported, whose forks run one command each.

Three quarters of the time of a short command are imports. A fork has what the process of a command has: its own memory,
environment, directory, streams and end. What is claimed of the start itself runs the installed command.

Where several processes run tests, they share the process that forks; then workers that parse files are its forks, too.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import weakref
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if sys.platform != "win32":
    import fcntl
    import termios

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LIBRARIES = ("numpy", "onnxruntime", "qdrant_edge", "rich.console", "typer", "tree_sitter", "pydantic")
_FOR_FEW = re.compile(r"__main__|\.(azure|otlp|openai|ollama|cluster\w*|seven_zip)$")
"""Modules whose libraries take seconds to import, and few commands need."""

COMMAND = "directory_indexer.__main__:start"
RUN = "directory_indexer.cli:main"
WORKER = "directory_indexer.parsing.worker:work"
"""What a fork can run."""

_HERE = os.path.dirname(os.path.abspath(__file__))
_ADDRESS = "WARM_COMMANDS"
_LENGTH = struct.Struct("!I")
_POLL_SECONDS = 0.02
_CALL_SECONDS = 5.0
FOREVER_SECONDS = 100_000.0
_MOST_READ = 100_000
_LARGE_PAGE = 1 << 21
_MADV_COLLAPSE = 25
_DECIDES_THE_START = ("PYTHON", "LC_", "LANG")


def is_warm(environ: Mapping[str, str]) -> bool:
    """Whether a command with this environment starts as this process did."""
    return hasattr(os, "fork") and _start_settings(environ) == _start_settings(os.environ)


def share_forker() -> None:
    """Start the process that forks for this process and for those that it starts."""
    if hasattr(os, "fork"):
        os.environ[_ADDRESS] = _forker()


def is_forker_shared() -> bool:
    """Whether another process has started the process that forks."""
    return _ADDRESS in os.environ


class WarmCommand:
    """A command or worker that runs in a fork, with three streams of whoever started it."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: str,
        environ: Mapping[str, str],
        streams: Sequence[int],
        function: str = COMMAND,
        address: str = "",
    ) -> None:
        # All but a command may need modules of tests.
        path = None if function == COMMAND else sys.path
        call = json.dumps(
            {"words": words, "cwd": cwd, "environ": dict(environ), "function": function, "path": path}
        ).encode()
        self._connection = socket.socket(socket.AF_UNIX)
        weakref.finalize(self, self._connection.close)  # a command that nobody waits for leaves none open
        self._connection.connect(address or _forker())
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
    if is_forker_shared():
        return os.environ[_ADDRESS]
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


def stand_in(*words: str) -> list[str]:
    """Return the words that start a command in a fork, for whoever starts a process itself."""
    return [sys.executable, "-S", os.path.abspath(__file__), _forker(), *words]


def main() -> None:
    """Import everything and fork for each connection, until standard input ends; with words, stand in for a command."""
    address, *words = sys.argv[1:]
    if words:
        command = WarmCommand(words, cwd=os.getcwd(), environ=os.environ, streams=(0, 1, 2), address=address)
        sys.exit(command.wait(FOREVER_SECONDS))
    sys.path[:] = [entry for entry in sys.path if entry != _HERE]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    serve_forks(address, _import_everything)


def serve_forks(address: str, prepare: Callable[[], None]) -> None:
    """Fork for each connection to an address, once all is prepared, until standard input ends."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        prepare()
        gc.freeze()
        _join_pages()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if os.fork() == 0:  # without the threads that libraries have started
            _serve(listener)
        sys.stdin.buffer.read()
        os.killpg(0, signal.SIGTERM)


def _join_pages() -> None:
    """Move all that is in memory to large pages, where the system has them: half of what a fork costs is small ones."""
    if sys.platform == "linux":
        madvise = ctypes.CDLL(None).madvise
        for start, end in re.findall(r"^(\w+)-(\w+) rw-p 0+ 00:00 ", Path("/proc/self/maps").read_text(), re.MULTILINE):
            first = -(-int(start, 16) // _LARGE_PAGE) * _LARGE_PAGE
            n_bytes = (int(end, 16) - first) // _LARGE_PAGE * _LARGE_PAGE
            if n_bytes > 0:
                madvise(ctypes.c_void_p(first), ctypes.c_size_t(n_bytes), _MADV_COLLAPSE)


def _fork_children(address: str) -> None:
    """Have the workers of commands and their runs in the background forked, too."""
    os.environ[_ADDRESS] = address
    sys.path.insert(0, _HERE)
    import commands  # noqa: PLC0415 - it imports this file
    import warm_commands  # noqa: PLC0415 - not the same as this program

    from directory_indexer.indexing import background_runs  # noqa: PLC0415 - this file is imported by tests, too
    from directory_indexer.parsing import worker_pool  # noqa: PLC0415 - as above
    from directory_indexer.server import index_jobs  # noqa: PLC0415 - as above

    sys.path.remove(_HERE)
    warm_commands.share_forker()
    worker_pool.start_process = commands.fork_worker
    forking = SimpleNamespace(Popen=commands.fork_child, DEVNULL=subprocess.DEVNULL)
    for module in (background_runs, index_jobs):
        vars(module)["subprocess"] = forking


def _import_everything() -> None:
    import directory_indexer  # noqa: PLC0415 - this file is imported by tests, too

    ours = (module.name for module in pkgutil.walk_packages(directory_indexer.__path__, "directory_indexer."))
    for name in (*_LIBRARIES, *ours):
        if not _FOR_FEW.search(name):
            importlib.import_module(name)
    _load_model()
    _fork_children(sys.argv[1])


def _load_model() -> None:
    """Have forks share a session of the model that has run once; each would need a tenth of a second to get there."""
    from directory_indexer.embedding import embedded  # noqa: PLC0415 - this file is imported by tests, too

    embedded._load_session = cache(embedded._load_session)  # noqa: SLF001 - the product loads it once a process
    embedded.EmbeddedEmbedder().embed_query("a query")


def _serve(listener: socket.socket) -> None:
    """Fork for each connection, and answer it when the fork has ended; with another thread, forks would not be safe."""
    running: dict[int, socket.socket] = {}
    wakes, woken = os.pipe()
    both: list[Any] = [listener, wakes]
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    while True:
        ready, _, _ = select.select(both, [], [])
        if wakes in ready:
            os.read(wakes, _MOST_READ)
            _answer_ended(running)
        if listener in ready:
            connection, _ = listener.accept()
            connection.settimeout(_CALL_SECONDS)  # a thread of a process that ends may stop between two steps
            try:
                call, streams = _received(connection)
            except (EOFError, OSError, struct.error):  # whoever wanted to start it has ended
                connection.close()
                continue
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for descriptor in (wakes, woken, *map(socket.socket.fileno, (listener, connection, *running.values()))):
                    os.close(descriptor)
                _become(call, streams)
            running[pid] = connection
            for stream in streams:
                os.close(stream)
            with contextlib.suppress(OSError):
                connection.sendall(pid.to_bytes(4, "big"))


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    header, streams, _, _ = socket.recv_fds(connection, _LENGTH.size, 3)
    return json.loads(_exactly(connection, *_LENGTH.unpack(header))), streams


def _answer_ended(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as connection, contextlib.suppress(OSError):
            connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))


def _become(call: dict[str, Any], streams: list[int]) -> None:
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that ^C reaches it
    os.chdir(call["cwd"])
    os.environ.clear()
    os.environ.update(call["environ"])
    tempfile.tempdir = None
    sys.argv[:] = call["words"]
    sys.path[:] = call["path"] or sys.path
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, errors="backslashreplace")  # noqa: SIM115
    module, _, name = call["function"].partition(":")
    try:
        getattr(importlib.import_module(module), name)()
    finally:
        os._exit(70)


if __name__ == "__main__":
    main()
