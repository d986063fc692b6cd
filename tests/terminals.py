"""Commands on pseudo-terminals of a given width."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import termios
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from warm_commands import WarmCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_ESCAPES = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")
_ESCAPES_OF_BYTES = re.compile(_ESCAPES.pattern.encode())
_ENTER = "\n"
_READ_BYTES = 65_536
_ROWS = 40
_PATIENCE_SECONDS = 60


class Screen(NamedTuple):
    """The exit code of a command, and all that it wrote to its terminal."""

    code: int
    written: str
    columns: int

    @property
    def lines(self) -> list[str]:
        """The lines as they are seen; what is overwritten later is one, too."""
        return re.split(r"[\r\n]+", _ESCAPES.sub("", self.written))

    @property
    def text(self) -> str:
        """The lines as one text."""
        return _ENTER.join(self.lines)

    @property
    def too_wide(self) -> list[str]:
        """The lines that are wider than the terminal."""
        return [line for line in self.lines if cell_len(line) > self.columns]


def run_on_terminal(
    *words: str,
    columns: int,
    at: Path,
    environ: Mapping[str, str],
    typed: str = "",
    after: str = "",
    then: Sequence[tuple[str, str]] = (),
) -> Screen:
    """Run `dirindex` in a directory; keys are typed once it has written the text after which they are.

    `then` holds further texts to wait for in what is written from then on, each with what is typed then.
    """
    terminal, its_side = pty.openpty()
    fcntl.ioctl(its_side, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    command = WarmCommand(["dirindex", *words], cwd=os.fspath(at), environ=environ, streams=[its_side] * 3)
    os.close(its_side)
    written = b"".join(
        _read(terminal, [(after.encode(), typed.encode()), *((a.encode(), b.encode()) for a, b in then)])
    )
    os.close(terminal)
    code = command.wait(_PATIENCE_SECONDS)
    assert code is not None
    return Screen(code, written.decode("utf-8", "replace"), columns)


def _read(terminal: int, dialogue: list[tuple[bytes, bytes]]) -> Iterator[bytes]:
    unanswered = b""
    while True:
        while dialogue and dialogue[0][0] in (text := _ESCAPES_OF_BYTES.sub(b"", unanswered)):
            expected, answer = dialogue.pop(0)
            os.write(terminal, answer)
            unanswered = text[text.index(expected) + len(expected) :]
        part = b""
        with contextlib.suppress(OSError):  # Linux says so when nobody writes any more
            part = os.read(terminal, _READ_BYTES)
        if not part:
            return
        unanswered += part
        yield part
