"""A recorded terminal session: real commands, as a picture (SVG) and as a recording that asciinema plays."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COLUMNS = 100
_PROMPT = "\x1b[1;32m$\x1b[0m "
_READ_BYTES = 4096


def record(commands: Sequence[str], *, environment: Mapping[str, str], directory: Path, into: Path) -> None:
    """Run shell commands on a terminal of their own, and write `session.svg` and `session.cast`."""
    events: list[tuple[float, str]] = []
    started = time.monotonic()
    for command in commands:
        events.append((time.monotonic() - started, f"{_PROMPT}{command}\r\n"))
        events.extend((seconds - started, part) for seconds, part in _run(command, environment, directory))
    header = {"version": 2, "width": COLUMNS, "height": 40, "title": "dirindex"}
    lines = [header, *([round(seconds, 3), "o", text] for seconds, text in events)]
    (into / "session.cast").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(_settled("".join(text for _, text in events))))
    console.save_svg(str(into / "session.svg"), title="dirindex")


def _run(command: str, environment: Mapping[str, str], directory: Path) -> list[tuple[float, str]]:
    ours, theirs = pty.openpty()
    settings = {**environment, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    process = subprocess.Popen(  # noqa: S602 - the commands are ours
        command, shell=True, stdin=theirs, stdout=theirs, stderr=theirs, env=settings, cwd=directory
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, _READ_BYTES)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append((time.monotonic(), part.decode(errors="replace")))
    os.close(ours)
    process.wait()
    return parts


def _settled(text: str) -> str:
    """Leave of each line what was written last: progress overwrites itself."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rsplit("\r", 1)[-1] for line in lines)
