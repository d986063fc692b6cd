"""Commands in forks of one process that has imported all of them: as real as processes, and a tenth of their time.

Run as a program, it reads command lines as JSON, a line each, and writes how each has ended.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PATIENCE_SECONDS = 60
_POLL_SECONDS = 0.002
_LEFT_OUT = tuple(
    f"directory_indexer.{name}"
    for name in ("__main__", "embedders", "extractors", "models", "ocr", "previewing", "telemetry", "vectorstore")
)
"""What few commands load, and what takes longest to be loaded."""

_SERVES = b"http://"
"""What a server says on standard error when it can be reached: then it is told to end."""


class Ended(NamedTuple):
    """How a command has ended; None where it had to be killed."""

    code: int | None
    out: str
    err: str


class Forks:
    """A process that runs commands for one test module."""

    def __init__(self, directory: Path, environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=directory,
            env={**environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(self, arguments: Sequence[str]) -> Ended:
        """Run a command whose standard input is empty; its arguments may hold what no process can be given."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(list(arguments)).encode() + b"\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))


def _main() -> None:
    package = import_module("directory_indexer")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(_LEFT_OUT):
            import_module(module.name)
    gc.freeze()  # what a fork leaves alone, it shares
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(_ended(json.loads(line))) + "\n")
        sys.stdout.flush()


def _ended(arguments: list[str]) -> tuple[int | None, str, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if not pid:
            _run(arguments, out.fileno(), err.fileno())
        code = _waited(pid, err)
        out.seek(0)
        err.seek(0)
        return code, out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace")


def _run(arguments: list[str], out: int, err: int) -> NoReturn:
    os.setsid()
    for number, of in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
        os.dup2(number, of)
    sys.argv = ["dirindex", *arguments]
    from directory_indexer.cli import main  # noqa: PLC0415 - the rest has been imported in the process before

    main()


def _waited(pid: int, err: Any) -> int | None:
    """Wait until a command ends; one that serves is told to."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if _SERVES in os.pread(err.fileno(), 100_000, 0):
            os.kill(pid, signal.SIGTERM)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        time.sleep(_POLL_SECONDS)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


if __name__ == "__main__":
    _main()
