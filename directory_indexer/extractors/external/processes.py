"""Runs a program over one file: no shell, no environment, a directory of its own, and limits that hold."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from directory_indexer.errors import ReaderError

if sys.platform != "win32":
    import resource


class ProgramLimits(NamedTuple):
    """What a program may use: seconds, of the processor as of the clock, and bytes that it may write."""

    seconds: int
    n_bytes: int


class LimitedProgram:
    """A program that runs, given by its path, in a session of its own, which ends as a whole when it is finished.

    It reads what `source` holds, and writes to `output`; the caller may do something else meanwhile.

    Raises:
        ReaderError: it cannot be started.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        directory: Path,
        output: IO[bytes],
        limits: ProgramLimits,
        source: IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._name = os.path.basename(arguments[0])
        self._limits = limits
        own = {"PATH": os.defpath, "HOME": str(directory), "TMPDIR": str(directory), "LC_ALL": "C.UTF-8"}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what the configuration says
                list(arguments),
                stdin=source or subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                cwd=directory,
                env={**own, **(environment or {})},
                start_new_session=True,
                preexec_fn=_limiting(limits),  # noqa: PLW1509 - a worker has one thread
            )
        except OSError as error:
            raise ReaderError(f"{self._name} cannot be started: {error.strerror}") from error

    def finish(self) -> None:
        """Wait for its end.

        Raises:
            ReaderError: it fails, or takes too long.
        """
        try:
            status = self._process.wait(self._limits.seconds)
        except subprocess.TimeoutExpired as error:
            raise ReaderError(f"{self._name} takes longer than {self._limits.seconds} s") from error
        finally:
            self.end()
        if status == -_OUT_OF_PROCESSOR_TIME:
            raise ReaderError(f"{self._name} takes longer than {self._limits.seconds} s of the processor")
        if status:
            raise ReaderError(f"{self._name} ends with {_shown(status)}")

    def end(self) -> None:
        """End what it has left, and itself."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self._process.kill()
        self._process.wait()


def program_of(name: str) -> str:
    """Find a program where the person who runs dirindex does, and never in a directory that is indexed; "" for none."""
    if os.path.isabs(name):
        return name
    if os.path.basename(name) != name:  # which would lead from the working directory on
        return ""
    return shutil.which(name, path=_absolute(os.environ.get("PATH", ""))) or ""


def _absolute(path: str) -> str:
    entries = (path or os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


def _limiting(limits: ProgramLimits) -> Callable[[], None] | None:
    if sys.platform == "win32":
        return None

    end_with_worker = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def limit() -> None:
        if end_with_worker:
            end_with_worker(_DEATH_SIGNAL, signal.SIGKILL)
        resource.setrlimit(
            resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1)
        )  # the signal that says why comes first
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.n_bytes, limits.n_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit


def _shown(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"signal {-status}"


_OUT_OF_PROCESSOR_TIME: Final = 24
"""SIGXCPU, which ends a program that has used its seconds of the processor: 24 on Linux and macOS alike."""

_DEATH_SIGNAL: Final = 1
"""What `prctl` calls the signal that a process gets when the one that started it has ended, however that was."""
