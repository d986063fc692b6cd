"""The caller of a command: its streams, its terminal and environment, and the index that it may share.

Nearly always that is this process. A server runs commands of other processes in separate threads, each of which
captures the output for its caller.

Any of the standard streams may be closed, and a write to any of them may fail.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, TextIO

from directory_indexer.core.errors import UnavailableError
from directory_indexer.core.lazy import lazily

if TYPE_CHECKING:
    from directory_indexer.config import LoadedConfig

with lazily:
    import shutil

    from typing_extensions import Buffer

    from directory_indexer.app import App


class NotAnsweredError(Exception):
    """The caller has to run the command in its own process."""


class Caller:
    """This process, as the caller of its own command."""

    loaded: LoadedConfig | None = None
    """The configuration that the command loaded last."""

    @property
    def stdout(self) -> TextIO:
        """Standard output."""
        return sys.stdout

    @property
    def stderr(self) -> TextIO:
        """Standard error."""
        return sys.stderr

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment."""
        return os.environ

    @property
    def columns(self) -> int:
        """The width of the terminal behind standard output."""
        return shutil.get_terminal_size().columns

    @property
    def message_columns(self) -> int:
        """The width of the terminal behind standard error, since standard output may be a pipe."""
        with contextlib.suppress(OSError):
            if columns := os.get_terminal_size(sys.stderr.fileno()).columns:
                return columns
        return self.columns

    def app(self, loaded: LoadedConfig) -> App:
        """Return the index that a configuration names.

        Raises:
            NotAnsweredError: it is not the index of this server.
        """
        self.loaded = loaded
        return App(loaded)

    def require_same_process(self) -> None:
        """Raise unless the command runs in the process of its caller.

        Raises:
            NotAnsweredError: a server runs it.
        """


_THIS_PROCESS = Caller()
_current: ContextVar[Caller] = ContextVar("caller", default=_THIS_PROCESS)


def current_caller() -> Caller:
    """Return the caller of the command that this thread runs."""
    return _current.get()


def run_for(caller: Caller) -> None:
    """Set the caller for which this thread runs commands."""
    _current.set(caller)


_MODES = {0: os.O_RDONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}
"""Replacements of closed streams: empty input, an output that fails on writes, and discarded messages."""

_ERROR_HANDLER = "dirindex"
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF


def secure_streams() -> None:
    """Replace the standard streams by ones with defined errors.

    A failed write to standard output raises `UnavailableError`, one to standard error is ignored. Characters that the
    output's encoding lacks are escaped.
    """
    codecs.register_error(_ERROR_HANDLER, _escape_unencodable)
    if sys.platform == "win32":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors=_ERROR_HANDLER)
        return
    for number, mode in _MODES.items():
        # Otherwise the next opened file would get this descriptor, and what is written to the stream.
        with contextlib.suppress(OSError):
            os.fstat(number)
            continue
        os.set_inheritable(os.open(os.devnull, mode), True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = written_text(_Output(1, "w", closefd=False), 1, encoding=_encoding(sys.stdout))
    sys.stderr = written_text(_Messages(2, "w", closefd=False), 2, encoding=_encoding(sys.stderr))


def written_text(raw: io.RawIOBase, descriptor: int, *, encoding: str) -> io.TextIOWrapper:
    """Return the text of standard output (1) or standard error (2) over what takes its bytes."""
    errors = _ERROR_HANDLER if descriptor == 1 else "backslashreplace"
    is_for_people = descriptor == 2 or raw.isatty()  # noqa: PLR2004 - standard error
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=is_for_people)


def _encoding(stream: TextIO | None) -> str:
    return stream.encoding if stream else "utf-8"


class _Output(io.FileIO):
    def write(self, content: Buffer, /) -> int:
        try:
            return super().write(content)
        except BrokenPipeError as error:
            # Without errno, since Typer ends the process with 1 when it sees EPIPE.
            raise BrokenPipeError("nobody reads standard output any more") from error
        except OSError as error:
            if error.errno == errno.EBADF:
                raise UnavailableError("standard output is closed") from error
            raise UnavailableError(f"standard output cannot be written: {error.strerror}") from error


class _Messages(io.FileIO):
    def write(self, content: Buffer, /) -> int:
        try:
            return super().write(content)
        except OSError:
            return memoryview(content).nbytes


def _escape_unencodable(error: UnicodeError) -> tuple[bytes, int]:
    """Encode an undecodable byte of a file name as that byte, and a character that the encoding lacks as an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if _FIRST_BYTE <= ord(character) <= _LAST_BYTE:
        return character.encode("ascii", "surrogateescape"), error.start + 1
    return character.encode("ascii", "backslashreplace"), error.start + 1
