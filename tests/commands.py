"""The installed command, called as `subprocess` calls it, in a fork of the warm process where that starts it alike."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from subprocess import DEVNULL, PIPE, CompletedProcess
from typing import IO, TYPE_CHECKING, Any, Self

from warm_commands import COMMAND, RUN, WORKER, WarmCommand, is_forker_shared, is_warm, run_warm

from directory_indexer.parsing import worker_pool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Words = Sequence[str | os.PathLike[str]]

DIRINDEX = Path(sys.executable).with_name("dirindex")
start_worker = worker_pool.start_process
"""Start a process that parses files, as the product does; in forks, `fork_worker` stands in its place."""

_FOREVER_SECONDS = 1_000.0


def run_command(
    words: Words,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    input: str = "",  # noqa: A002 - as `subprocess.run` calls it
    timeout: float = 100,
    check: bool = True,
) -> CompletedProcess[str]:
    """Run a command and return what it wrote; with `check`, it must end well.

    Raises:
        subprocess.TimeoutExpired: it took longer than `timeout` seconds.
    """
    environ, place, command = env or os.environ, os.fspath(cwd or Path.cwd()), [os.fspath(word) for word in words]
    if is_warm(environ):
        done = run_warm(command, cwd=place, environ=environ, stdin=input, seconds=timeout)
    else:
        streams: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "input": input}
        done = subprocess.run(command, check=False, cwd=place, env=environ, timeout=timeout, **streams)
    assert done.returncode == 0 or not check, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def start_command(
    words: Words,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    text: bool = False,
    is_cold: bool = False,
    **streams: int | None,
) -> Process:
    """Start a command that goes on beside the test; `streams` are `stdin`, `stdout` and `stderr`.

    A cold one starts Python and imports what it needs, as an installed command does.
    """
    environ, place, command = env or os.environ, os.fspath(cwd or Path.cwd()), [os.fspath(word) for word in words]
    if is_warm(environ) and not is_cold:
        three = [streams.get(name) for name in ("stdin", "stdout", "stderr")]
        return _Fork(command, three, cwd=place, environ=environ, text=text)
    return subprocess.Popen(command, cwd=place, env=environ, text=text, **streams)  # type: ignore[call-overload,no-any-return]


def start_function(function: str, *arguments: str, **streams: int | None) -> Process:
    """Start `module:name` without parameters in a process of its own; `arguments` are in `sys.argv`."""
    module, _, name = function.partition(":")
    if is_forker_shared():
        three = [streams.get(name) for name in ("stdin", "stdout", "stderr")]
        return _Fork([module, *arguments], three, cwd=os.getcwd(), environ=os.environ, text=True, function=function)
    program = f"import sys; sys.path[:] = {sys.path!r}; from {module} import {name}; {name}()"
    return subprocess.Popen([sys.executable, "-c", program, *arguments], text=True, **streams)  # type: ignore[call-overload,no-any-return]


def fork_worker(environ: Mapping[str, str]) -> Any:
    """Start a process that parses files, as `worker_pool.start_process` does."""
    return _Fork(["worker"], (PIPE, PIPE, DEVNULL), cwd=os.sep, environ=environ, text=False, function=WORKER)


def fork_child(command: Sequence[str], *, cwd: str, env: Mapping[str, str], **streams: Any) -> Any:
    """Start a run in the background, as the product has `subprocess.Popen` do it."""
    words = ["dirindex", *command[command.index("-c") + 2 :]]
    three = [streams[name] for name in ("stdin", "stdout", "stderr")]
    numbers = [stream if isinstance(stream, int) else stream.fileno() for stream in three]
    return _Fork(words, numbers, cwd=cwd, environ=env, text=False, function=RUN)


class _Fork:
    """A command in a fork of the warm process, with as much of `subprocess.Popen` as tests use."""

    def __init__(
        self,
        words: list[str],
        streams: Sequence[int | None],
        *,
        cwd: str,
        environ: Mapping[str, str],
        text: bool,
        function: str = COMMAND,
    ) -> None:
        self.args = words
        self.returncode: int | None = None
        self._is_waited_for = threading.Lock()
        pipes: list[IO[Any] | None] = []
        its_sides: list[int] = []
        for number, stream in enumerate(streams):
            pipe, its_side = _opened(number, stream, text=text)
            pipes.append(pipe)
            its_sides.append(its_side)
        self.stdin, self.stdout, self.stderr = pipes
        self._command = WarmCommand(words, cwd=cwd, environ=environ, streams=its_sides, function=function)
        for its_side in its_sides:
            os.close(its_side)
        self.pid = self._command.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self.stdout, self.stderr, self.stdin):
            if pipe is not None:
                pipe.close()
        self.wait()

    def poll(self) -> int | None:
        """Return the exit code of a command that has ended."""
        if self.returncode is None and self._is_waited_for.acquire(blocking=False):
            self.returncode = self._ended(0)
            self._is_waited_for.release()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end.

        Raises:
            subprocess.TimeoutExpired: it goes on for longer.
        """
        with self._is_waited_for:
            self.returncode = self._ended(_FOREVER_SECONDS if timeout is None else timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or _FOREVER_SECONDS)
        return self.returncode

    def _ended(self, seconds: float) -> int | None:
        return self._command.wait(seconds) if self.returncode is None else self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Return what the command writes to at most one pipe until it ends."""
        stdout, stderr = (pipe and pipe.read() for pipe in (self.stdout, self.stderr))
        self.wait(timeout)
        self.__exit__()
        return stdout, stderr

    def send_signal(self, number: int) -> None:
        """Send a signal to a command that has not ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # its end has not been told yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the command to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the command."""
        self.send_signal(signal.SIGKILL)


Process = subprocess.Popen[Any] | _Fork


def _opened(number: int, stream: int | None, *, text: bool) -> tuple[IO[Any] | None, int]:
    """Open a stream of a command: our side of it, if there is one, and the side of the command."""
    if stream is None:
        return None, os.dup(number)
    if stream == DEVNULL:
        return None, os.open(os.devnull, os.O_RDWR)
    if stream != PIPE:
        return None, os.dup(stream)
    reading, writing = os.pipe()
    ours, its_side = (writing, reading) if number == 0 else (reading, writing)
    mode = "w" if number == 0 else "r"
    return (open(ours, mode, encoding="utf-8") if text else open(ours, f"{mode}b")), its_side
