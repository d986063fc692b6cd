"""Recorded terminal sessions: real commands, as text, as a picture (SVG) and as a recording that asciinema plays."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COLUMNS = 100
_ROWS = 40
_PROMPT = "\x1b[1;32m$\x1b[0m "
_READ_BYTES = 4096
_MOVES = re.compile(r"(\r?\n|\r|\x1b\[\d*A|\x1b\[[0-2]?K|\x1b\[\?25[hl])")
_ESCAPES = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")


class Recording(NamedTuple):
    """The exit code of a command, and what it wrote to its terminal, with the time of each part."""

    code: int
    events: Sequence[tuple[float, str]]

    @property
    def plain(self) -> str:
        """The text that the terminal shows in the end, without colours and links."""
        text = _ESCAPES.sub("", settled("".join(text for _, text in self.events)))
        return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def record(commands: Sequence[str], *, environment: Mapping[str, str], directory: Path, into: Path) -> None:
    """Run shell commands on a terminal of their own, and write `session.svg` and `session.cast`."""
    events: list[tuple[float, str]] = []
    started = time.monotonic()
    for command in commands:
        events.append((time.monotonic() - started, f"{_PROMPT}{command}\r\n"))
        recording = run_on_terminal(command, environment=environment, directory=directory)
        events.extend((seconds - started, part) for seconds, part in recording.events)
    header = {"version": 2, "width": COLUMNS, "height": _ROWS, "title": "dirindex"}
    lines = [header, *([round(seconds, 3), "o", text] for seconds, text in events)]
    (into / "session.cast").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(settled("".join(text for _, text in events))))
    console.save_svg(str(into / "session.svg"), title="dirindex")


def run_on_terminal(
    command: str, *, environment: Mapping[str, str], directory: Path, columns: int = COLUMNS
) -> Recording:
    """Run a shell command on a terminal of its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    settings = {**environment, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    process = subprocess.Popen(  # noqa: S602 - the commands are ours
        command, shell=True, stdin=theirs, stdout=theirs, stderr=theirs, env=settings, cwd=directory
    )
    os.close(theirs)
    events = []
    while True:
        try:
            part = os.read(ours, _READ_BYTES)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        events.append((time.monotonic(), part.decode(errors="replace")))
    os.close(ours)
    return Recording(process.wait(), events)


def settled(text: str) -> str:
    """Return the lines that a terminal shows in the end: progress moves up and overwrites itself."""
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
