"""Commands of other processes of the same user, answered by a server that has the index open.

A command runs as it would in the process that asked: in its working directory, with its environment, for its terminal.
What it writes is kept until it has ended. Whatever does not end with an ordinary answer, be it a mistake, a prompt or a
bug, is left to the process that asked.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from directory_indexer.cli.caller import Caller, NotAnsweredError, run_for, written_text
from directory_indexer.command_client import (
    ACCEPTED,
    COMMANDS,
    DECLINED,
    FIELD_END,
    LENGTH_BYTES,
    MAX_REQUEST_BYTES,
    at_socket,
    compared,
    peer_uid,
    socket_path,
    version,
)
from directory_indexer.config import DEFAULT, LoadedConfig
from directory_indexer.core.cancellation import cancelled_by
from directory_indexer.core.kept_files import directory_mode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.lock import try_lock

if TYPE_CHECKING:
    from typing_extensions import Buffer

with lazily:
    import ctypes

    from directory_indexer.app import App
    from directory_indexer.cli.command_line import run_command
    from directory_indexer.cli.command_table import parsed_command


_MAX_CONCURRENT: Final = 4
_MAX_ANSWER_BYTES: Final = 8 << 20
"""A command with more output is a stream, which its caller may interrupt."""

_READ_SECONDS: Final = 1.0
_WRITE_SECONDS: Final = 30.0
_TAKE_OVER_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 1.0
_BACKLOG: Final = 16
_CLONE_FS: Final = 0x200
_DEFAULT_COLUMNS: Final = 80
_log = logging.getLogger("dirindex.serve")


class CommandServer:
    """Answers commands about one index, in threads that end with the process."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._database = _file_identity(os.fspath(app.loaded.config.storage.sqlite_path))
        self._slots = threading.Semaphore(_MAX_CONCURRENT)
        self.last_answered_at = time.monotonic()
        """The time of the last answer."""
        self.is_outdated = False
        """Whether a client of another version has connected."""

    def start(self) -> None:
        """Listen, once no other server does, in a thread; do nothing on a system without Unix sockets."""
        loaded = self._app.loaded
        if sys.platform != "win32" and loaded.collection == DEFAULT and not loaded.config.serving.from_cluster:
            threading.Thread(target=self._run, name="commands", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                self.answer_while(lambda: True)
            except (OSError, RuntimeError) as error:  # no thread can be had
                _log.debug("commands of other processes are not answered: %s", error)
            time.sleep(_TAKE_OVER_SECONDS)

    def answer_while(self, is_wanted: Callable[[], bool]) -> None:
        """Answer commands until `is_wanted` is false or the socket is replaced; do nothing if another server does.

        Raises:
            OSError: the system refuses.
        """
        data_dir = Path(os.path.abspath(self._app.loaded.data_dir))
        data_dir.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        lock = try_lock(data_dir / f"commands-{os.geteuid()}.lock", exclusive=True)
        if lock is None:
            return
        path = socket_path(os.fspath(data_dir))
        with lock, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            Path(path).unlink(missing_ok=True)  # a server that was killed left it
            at_socket(path, listener.bind)
            os.chmod(path, 0o600)
            listener.listen(_BACKLOG)
            listener.settimeout(_POLL_SECONDS)
            identity = _file_identity(path)
            while is_wanted() and _file_identity(path) == identity:
                with contextlib.suppress(TimeoutError):
                    connection, _ = listener.accept()
                    threading.Thread(target=self._serve, args=(connection,), name="command", daemon=True).start()
            if _file_identity(path) == identity:
                os.unlink(path)

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(_READ_SECONDS)
            if peer_uid(connection) != os.geteuid():
                return
            request = _read_request(connection)
            self.is_outdated |= request.version != version()
            if not request.can_be_answered or not self._slots.acquire(blocking=False):
                connection.sendall(DECLINED)
                return
            try:
                connection.sendall(ACCEPTED)
                answer = self._answer(request, connection)
                self.last_answered_at = time.monotonic()
            finally:
                self._slots.release()
            connection.settimeout(_WRITE_SECONDS)
            connection.sendall(answer)

    def _answer(self, request: _CommandRequest, connection: socket.socket) -> bytes:
        """Return the output frames and the exit code; empty if the caller has to run the command itself."""
        output = _CapturedOutput(connection)
        try:
            run_for(_RemoteCaller(request, output, self._own_app))
            with _in_working_directory(request.directory, request.identity), cancelled_by(output.is_disconnected):
                code = _exit_code(request.arguments)
        except Exception:  # noqa: BLE001 - the caller runs the command again, and reports the error
            return b""
        _log.debug("answered %s for another process", request.arguments[0])
        return b"".join((*output.parts, _frame(0, bytes([code]))))

    def _own_app(self, loaded: LoadedConfig) -> App:
        database = _file_identity(os.fspath(loaded.config.storage.sqlite_path))
        self._database = self._database or database
        # A restored backup replaces the database.
        if loaded.config != self._app.loaded.config or database != self._database:
            raise NotAnsweredError
        return self._app


def end_lingering(data_dir: Path) -> None:
    """End the process that a command has left running; other servers recreate their socket."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # a read-only file system, or no socket at all
            os.unlink(socket_path(os.fspath(data_dir)))


def _file_identity(path: str) -> tuple[int, int] | None:
    """Return the device and inode of a file, or None if it is missing."""
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return None


class _CommandRequest(NamedTuple):
    """A command with its environment, as sent by `command_client`."""

    version: bytes
    directory: str
    identity: str
    streams: tuple[tuple[str, bool, int], ...]
    environ: Mapping[str, str]
    arguments: tuple[str, ...]

    @property
    def can_be_answered(self) -> bool:
        is_same = self.version == version() and compared(self.environ) == compared(os.environ)
        return is_same and bool(self.arguments) and self.arguments[0] in COMMANDS


def _read_request(connection: socket.socket) -> _CommandRequest:
    """Read a request.

    Raises:
        ValueError: it is invalid.
        OSError: it does not arrive.
    """
    length = int.from_bytes(_read_exactly(connection, LENGTH_BYTES), "big")
    if length > MAX_REQUEST_BYTES:
        raise ValueError("the request is too long")
    program_version, *rest = _read_exactly(connection, length).split(FIELD_END)
    fields = list(map(os.fsdecode, rest))
    directory, identity, *streams = fields[:4]
    end = fields.index("", 4)
    variables = (field.partition("=") for field in fields[4:end])
    return _CommandRequest(
        program_version,
        directory,
        identity,
        tuple(
            (encoding, is_terminal == "1", int(columns)) for encoding, is_terminal, columns in map(str.split, streams)
        ),
        {name: value for name, _, value in variables},
        tuple(fields[end + 1 :]),
    )


def _read_exactly(connection: socket.socket, n_bytes: int) -> bytes:
    content = b""
    while len(content) < n_bytes:
        read = connection.recv(n_bytes - len(content))
        if not read:
            raise ValueError("the request is cut off")
        content += read
    return content


class _RemoteCaller(Caller):
    """Another process, which receives the output of a command at its end."""

    def __init__(self, request: _CommandRequest, output: _CapturedOutput, app: Callable[[LoadedConfig], App]) -> None:
        self._columns, self._message_columns = (columns for _, _, columns in request.streams)
        self._stdout, self._stderr = (
            written_text(_CapturingStream(output, descriptor, is_terminal=is_terminal), descriptor, encoding=encoding)
            for descriptor, (encoding, is_terminal, _) in enumerate(request.streams, start=1)
        )
        self._environ = request.environ
        self._app = app

    @property
    def stdout(self) -> TextIO:
        return self._stdout

    @property
    def stderr(self) -> TextIO:
        return self._stderr

    @property
    def environ(self) -> Mapping[str, str]:
        return self._environ

    @property
    def columns(self) -> int:
        named = self._environ.get("COLUMNS", "")
        return int(named) if named.isdecimal() and int(named) else self._columns or _DEFAULT_COLUMNS

    @property
    def message_columns(self) -> int:
        return self._message_columns or self.columns

    def app(self, loaded: LoadedConfig) -> App:
        return self._app(loaded)

    def require_same_process(self) -> None:
        raise NotAnsweredError


class _CapturedOutput:
    """Output of a command to both streams, in the order of writing."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._n_bytes = 0
        self.parts: list[bytes] = []

    def add(self, descriptor: int, content: bytes) -> None:
        self._n_bytes += len(content)
        if self._n_bytes > _MAX_ANSWER_BYTES or self.is_disconnected():
            raise NotAnsweredError
        self.parts.append(_frame(descriptor, content))

    def is_disconnected(self) -> bool:
        """Whether the caller was interrupted: it sends nothing after its request."""
        return bool(select.select([self._connection], [], [], 0)[0])


class _CapturingStream(io.RawIOBase):
    """One of the two streams of a command."""

    def __init__(self, output: _CapturedOutput, descriptor: int, *, is_terminal: bool) -> None:
        super().__init__()
        self._output = output
        self._descriptor = descriptor
        self._is_terminal = is_terminal

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._is_terminal

    def fileno(self) -> int:
        return self._descriptor

    def write(self, content: Buffer, /) -> int:
        self._output.add(self._descriptor, bytes(content))
        return memoryview(content).nbytes


def _frame(descriptor: int, content: bytes) -> bytes:
    return bytes([descriptor]) + len(content).to_bytes(LENGTH_BYTES, "big") + content


def _exit_code(arguments: tuple[str, ...]) -> int:
    run = parsed_command(arguments)
    return run_command(arguments) if run is None else run() or 0


_directory_lock = threading.Lock()


@contextlib.contextmanager
def _in_working_directory(directory: str, identity: str) -> Iterator[None]:
    """Change the working directory of this thread, or of the process for one thread at a time.

    Raises:
        NotAnsweredError: the path is another directory for the caller, as in a container.
    """
    with contextlib.ExitStack() as stack:
        if not _unshare_working_directory():
            stack.enter_context(_directory_lock)
            stack.callback(os.chdir, os.getcwd())
        os.chdir(directory)
        here = os.stat(".")
        if identity != f"{here.st_dev} {here.st_ino}":
            raise NotAnsweredError
        yield


def _unshare_working_directory() -> bool:
    """Detach the working directory of this thread from the process; return whether that is possible."""
    if sys.platform != "linux":
        return False
    try:
        return not ctypes.CDLL(None).unshare(_CLONE_FS)
    except (OSError, AttributeError):
        return False
