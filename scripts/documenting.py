"""Shell examples of the documentation: commands in `console` blocks, and their real output, as text or picture.

The commands of a page run in its order, on a terminal of 80 columns, in a home directory that holds nothing but the
papers of a lighthouse and, unless the page makes one, an index of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path

from page_documents import write_documents
from rich.console import Console
from rich.text import Text

SAMPLE = "lighthouse"
_COLUMNS, _PICTURE_COLUMNS, _ROWS = 80, 100, 40
_PROMPT = "\x1b[1;32m$\x1b[0m "
_READ_BYTES = 4096
_MOVES = re.compile(r"(\r?\n|\r|\x1b\[\d*A|\x1b\[[0-2]?K|\x1b\[\?25[hl])")
_ESCAPES = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")
_HOME = "/home/anna"
_INDEXING = f"dirindex index {SAMPLE}"
_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
_FIGURES = re.compile(r"\d[\d.,]*|\b(?:ms|s|min|B|KiB|MiB)\b|\s+")
_USAGE = 2
_NOT_AVAILABLE = 127


class ExampleError(Exception):
    """A command of a page that fails."""


def renewed(text: str) -> str:
    """Return a page with the real output below each command.

    Raises:
        ExampleError: a command is wrong.
    """
    if not _BLOCK.search(text):
        return text
    with home(is_indexed="\n$ dirindex " in text and f"\n$ {_INDEXING}\n" not in text) as directory:
        return _BLOCK.sub(
            lambda block: "".join(_run(command, directory) for command in _COMMAND.findall(block[0])), text
        )


def without_figures(text: str) -> str:
    """Return a page without its figures, which differ from one run to the next."""
    return _FIGURES.sub(" ", text)


@contextlib.contextmanager
def home(*, is_indexed: bool) -> Iterator[Path]:
    """Yield a home directory with the sample papers."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary) / "anna"
        (directory / SAMPLE).mkdir(parents=True)
        write_documents(directory / SAMPLE)
        if is_indexed:
            _run(f"{_INDEXING} --quiet", directory)
        yield directory


def draw(commands: Sequence[str], picture: Path) -> None:
    """Run commands on the sample papers, and render the final terminal screen."""
    with home(is_indexed=False) as directory:
        outputs = [
            f"{_PROMPT}{command}\r\n{_written(command, directory, columns=_PICTURE_COLUMNS)[1]}" for command in commands
        ]
    console = Console(record=True, width=_PICTURE_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(_settled("".join(outputs))))
    console.save_svg(str(picture), title="dirindex")


def _run(command: str, directory: Path) -> str:
    code, written = _written(command, directory, columns=_COLUMNS)
    lines = [line.rstrip() for line in _ESCAPES.sub("", _settled(written)).splitlines()]
    output = "\n".join(lines).strip("\n").replace(str(directory), _HOME)
    output = output.replace(str(_programs()), f"{_HOME}/.venv/bin")
    if code == _USAGE or code >= _NOT_AVAILABLE:
        raise ExampleError(f"$ {command}\n{output}\nexit code {code}")
    return f"$ {command}\n{output}\n" if output else f"$ {command}\n"


def _written(command: str, directory: Path, *, columns: int) -> tuple[int, str]:
    """Run a shell command on a new terminal; return its exit code and output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    environ = {"HOME": str(directory), "LANG": "C.UTF-8", "COLUMNS": str(columns), "TERM": "xterm-256color"}
    environ["PATH"] = os.pathsep.join((str(_programs()), os.environ["PATH"]))
    process = subprocess.Popen(  # noqa: S602 - the commands are ours
        command, shell=True, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=directory
    )
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(ours, _READ_BYTES):
            written += part
    os.close(ours)
    return process.wait(), written.decode(errors="replace")


def _programs() -> Path:
    return Path(sys.executable).parent


def _settled(text: str) -> str:
    """Return the final lines of a terminal, on which progress overwrites itself."""
    lines, row, overwrites = [""], 0, False
    for part in _MOVES.split(text):
        if part.endswith("\n"):
            row, overwrites = row + 1, True
            lines += [""] * (row == len(lines))
        elif part == "\r":
            overwrites = True
        elif part.startswith("\x1b[") and part.endswith("A"):
            row = max(0, row - int(part[2:-1] or 1))
        elif part.startswith("\x1b[") and part.endswith("K"):
            lines[row] = ""
        elif part and not part.startswith("\x1b[?25"):
            lines[row] = part if overwrites else lines[row] + part
            overwrites = False
    return "\n".join(lines)
