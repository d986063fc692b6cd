"""Other readers of the same files: a command for each file, or one that takes paths and answers each with a line."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_SECONDS = 20
_MOST_CHARS = 60_000_000


class Answer(NamedTuple):
    """The answer of another reader, None where it failed, and the seconds of the processor that it took."""

    text: str | None
    seconds: float


class Reader:
    """Another reader, and the kinds that it is asked for; every kind if it names none."""

    def __init__(self, name: str, command: Sequence[str], kinds: frozenset[str]) -> None:
        self.name = name
        self._command = tuple(command)
        self._kinds = kinds
        self._process: subprocess.Popen[str] | None = None

    def reads(self, kind: str) -> bool:
        """Whether it is asked for files of a kind."""
        return not self._kinds or kind in self._kinds

    def read(self, path: Path) -> Answer:
        """Read a file with it."""
        return self._once(path) if "{path}" in self._command else self._ask(path)

    def close(self) -> None:
        """End its process."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _once(self, path: Path) -> Answer:
        before = _children_seconds()
        words = [os.fspath(path) if word == "{path}" else word for word in self._command]
        try:
            done = subprocess.run(words, capture_output=True, check=False, timeout=_SECONDS)  # noqa: S603 - the user's own
        except subprocess.TimeoutExpired:
            return Answer(None, _children_seconds() - before)
        text = done.stdout.decode("utf-8", "replace")[:_MOST_CHARS]
        return Answer(text if done.returncode == 0 else None, _children_seconds() - before)

    def _ask(self, path: Path) -> Answer:
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - as above
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
        to, of = self._process.stdin, self._process.stdout
        if to is None or of is None:
            return Answer(None, 0.0)
        with contextlib.suppress(BrokenPipeError, ValueError):
            to.write(f"{path}\n")
            to.flush()
            if select.select([of], [], [], _SECONDS)[0] and (line := of.readline()):
                answer = json.loads(line)
                return Answer(answer["text"], answer["seconds"])
        self.close()
        return Answer(None, float(_SECONDS))


_KNOWN = (
    "doc:antiword=antiword -m UTF-8.txt {path}",
    "doc:catdoc=catdoc -d utf-8 {path}",
    "xls:xls2csv=xls2csv -d utf-8 {path}",
    "ppt:catppt=catppt -d utf-8 {path}",
    "rtf:unrtf=unrtf --nopict --text {path}",
    "pdf:pdftotext=pdftotext {path} -",
)


@contextlib.contextmanager
def readers_of(commands: Sequence[str]) -> Iterator[list[Reader]]:
    """Start the readers that are given, and of the common commands those that are installed."""
    known = [command for command in _KNOWN if shutil.which(command.partition("=")[2].split()[0])]
    readers = [_reader(command) for command in (*known, *commands)]
    try:
        yield readers
    finally:
        for reader in readers:
            reader.close()


def _reader(specification: str) -> Reader:
    name, _, command = specification.partition("=")
    kinds, _, name = name.rpartition(":")
    return Reader(name, shlex.split(command), frozenset(kinds.split(",")) if kinds else frozenset())


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
