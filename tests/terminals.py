"""Commands on pseudo-terminals of a given width, each in a process that is forked from one that has them imported."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from rich.cells import cell_len

from directory_indexer.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_ESCAPES = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")
_ENTER = "\n"
_READ_BYTES = 65_536
_ROWS = 40
_IMPORTED = (
    "directory_indexer.app",
    "directory_indexer.cli.command_line",
    "directory_indexer.indexing.indexer",
    "directory_indexer.parsing.parse",
    "directory_indexer.render.answers",
    "directory_indexer.render.reports",
    "directory_indexer.render.terminal",
    "directory_indexer.searching.inquiry",
    "directory_indexer.searching.searcher",
    "directory_indexer.server.http",
    "directory_indexer.team.search",
    "mcp.server",
    "uvicorn",
)
"""What most of the time of a short command goes to: imported once, and not by every process. None starts a thread."""


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


class Terminals:
    """Runs commands one after the other, each on a terminal of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(
        self, *words: str, columns: int, at: Path, environ: Mapping[str, str], typed: str = "", after: str = ""
    ) -> Screen:
        """Run `dirindex` in a directory; keys are typed once it has written the text after which they are."""
        request = {
            "words": words,
            "columns": columns,
            "directory": str(at),
            "environ": dict(environ),
            "typed": typed,
            "after": after,
        }
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Screen(answer["code"], answer["written"], columns)

    def close(self) -> None:
        """End the process that is forked."""
        self._process.communicate()


def _serve() -> None:
    for name in _IMPORTED:
        importlib.import_module(name)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_run(json.loads(line))) + "\n")
        sys.stdout.flush()


def _run(request: Mapping[str, Any]) -> dict[str, object]:
    process, terminal = pty.fork()
    if not process:
        _become_command(request)
    written = b"".join(_read(terminal, request["typed"].encode(), request["after"].encode()))
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return {"code": os.waitstatus_to_exitcode(status), "written": written.decode("utf-8", "replace")}


def _become_command(request: Mapping[str, Any]) -> NoReturn:
    try:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, request["columns"], 0, 0))
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["environ"])
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
        sys.argv = ["dirindex", *request["words"]]
        main()
    finally:
        os._exit(99)


def _read(terminal: int, typed: bytes, after: bytes) -> Iterator[bytes]:
    written = b""
    while True:
        if typed and after in written:
            os.write(terminal, typed)
            typed = b""
        part = b""
        with contextlib.suppress(OSError):  # Linux says so when nobody writes any more
            part = os.read(terminal, _READ_BYTES)
        if not part:
            return
        written += part
        yield part


if __name__ == "__main__":
    _serve()
