"""Runs the command so that nothing it does reaches further than its place: memory, time, home and process group."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

DIRINDEX = (str(Path(sys.executable).with_name("dirindex")),)
CHEAPLY = (sys.executable, str(Path(__file__).resolve().with_name("cheaply.py")))

BROKEN_CODE = 70
MEMORY_BYTES = 6 << 30
_PATIENCE_SECONDS = 60.0
"""How long a run may take to notice that it is to stop, on a machine that has other things to do."""

NOT_FOR_TERMINALS = re.compile(
    r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\x1b(?![\[\]\\])"
)
_BUG = re.compile(rb"this is a bug(?: \(\w+)?|Internal Server Error|Traceback \(most recent call last\)")
_EXCEPTION = re.compile(rb"^(?:[\w.]+(?:Error|Exception|Warning|Group)\b|(?:\w+\.)+\w+(?=:|$))", re.MULTILINE)


class Ended(NamedTuple):
    """The end of a command; `code` is negative for a signal."""

    code: int
    stdout: bytes
    stderr: bytes
    was_late: bool = False
    was_deaf: bool = False

    def complaint(self, *, codes: frozenset[int] = frozenset({0, 1})) -> str:
        """Return what was wrong with it, in words that stay the same for a smaller input; nothing if nothing."""
        if self.was_deaf:
            return "does not end when it is told to"
        if self.was_late:
            return "takes too long"
        if bug := bug_in(self.stderr):
            return f"ends with {self.code} and says '{bug}'"
        return "" if self.code in codes else f"ends with {self.code}"


class Containment(NamedTuple):
    """The place of a command."""

    home: Path
    seconds: float = 120.0
    memory_bytes: int = MEMORY_BYTES

    def environ(self, **further: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DIRINDEX_")}
        return {**kept, "HOME": str(self.home), "USERPROFILE": str(self.home), **further}

    def command(self, words: Sequence[str | os.PathLike[str]]) -> list[str]:
        """Put a limit of memory before a command."""
        limit = 'ulimit -v "$0" && ulimit -c 0 && exec "$@"'
        return ["/bin/sh", "-c", limit, str(self.memory_bytes // 1024), *map(os.fspath, words)]

    def started(self, *words: str | os.PathLike[str], environ: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a command, the first of a group of processes."""
        return subprocess.Popen(  # noqa: S603 - the program under test
            self.command(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ or self.environ(),
            cwd=self.home,
            start_new_session=True,
        )

    def run(self, *words: str | os.PathLike[str], environ: dict[str, str] | None = None) -> Ended:
        """Run a command to its end, or until it is late."""
        process = self.started(*words, environ=environ)
        was_late = was_deaf = False
        try:
            stdout, stderr = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            was_late = True
            process.terminate()
            try:
                stdout, stderr = process.communicate(timeout=_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                was_deaf = True
                kill_group(process)
                stdout, stderr = process.communicate()
        kill_group(process)
        return Ended(process.returncode, stdout, stderr, was_late, was_deaf)

    def outputt_of(self, *words: str | os.PathLike[str]) -> str:
        """Run a command on a pseudo-terminal, and give what it shows."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(  # noqa: S603 - as above
            self.command(words),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=self.environ(TERM="xterm", COLUMNS="300"),
            cwd=self.home,
            start_new_session=True,
        )
        os.close(theirs)
        output, until = b"", time.monotonic() + self.seconds
        # Linux says with an error that nobody writes any more.
        with contextlib.suppress(OSError):
            while select.select([ours], [], [], max(until - time.monotonic(), 0))[0]:
                further = os.read(ours, 65536)
                if not further:
                    break
                output += further
        os.close(ours)
        kill_group(process)
        process.wait()
        # Before it clears its lines, a progress bar goes to their beginning.
        return re.sub(r"\r(?=\n|\x1b\[)", "", output.decode("utf-8", "replace"))


def bug_in(output: bytes) -> str:
    """Find what a program says of a bug of its own, with the kind of the exception where it tells."""
    match = _BUG.search(output)
    if not match:
        return ""
    exceptions = _EXCEPTION.findall(output, match.end()) if match[0].startswith(b"Traceback") else []
    return b": ".join([match[0], *exceptions[-1:]]).decode()


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
