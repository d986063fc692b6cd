"""Standard input, output and error as a command finds them: any of them may be closed, and what they lead to full."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import sys
from typing import TextIO

from directory_indexer.errors import UnavailableError
from directory_indexer.lazy import lazily

with lazily:
    from typing_extensions import Buffer


_MODES = {0: os.O_RDONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}
"""What stands for a closed stream: no input, an output that refuses to be written, messages that nobody reads."""

_WRITTEN_OUT = "dirindex"
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF


def secure_streams() -> None:
    """Have output that cannot be written be an error with a name, and messages that cannot be written be none.

    What the encoding of the output does not have is no such error.
    """
    codecs.register_error(_WRITTEN_OUT, _written_out)
    if sys.platform == "win32":
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors=_WRITTEN_OUT)
        return
    for number, mode in _MODES.items():
        # The next file that is opened would have the number, and get what is written to the stream.
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
    errors = _WRITTEN_OUT if descriptor == 1 else "backslashreplace"
    is_for_people = descriptor == 2 or raw.isatty()  # noqa: PLR2004 - standard error
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=is_for_people)


def _encoding(stream: TextIO | None) -> str:
    return stream.encoding if stream else "utf-8"


class _Output(io.FileIO):
    def write(self, content: Buffer, /) -> int:
        try:
            return super().write(content)
        except BrokenPipeError as error:
            # Without a number, for Typer itself would end the process with 1 where it finds that of a broken pipe.
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


def _written_out(error: UnicodeError) -> tuple[bytes, int]:
    """Write a byte of a name that is no text as that byte, and what the encoding does not have as an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if _FIRST_BYTE <= ord(character) <= _LAST_BYTE:
        return character.encode("ascii", "surrogateescape"), error.start + 1
    return character.encode("ascii", "backslashreplace"), error.start + 1
