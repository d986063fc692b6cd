"""Runs a program over one file: no shell, no environment, a directory of its own, and limits that hold."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from directory_indexer.errors import ReaderError
from directory_indexer.isolation import NEUTRAL_DIRECTORY, isolated_command

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes
else:
    import resource


class ProgramLimits(NamedTuple):
    """What a program may use: seconds, of the processor as of the clock, and bytes that it may write."""

    seconds: int
    n_bytes: int


class LimitedProgram:
    """A program that runs, given by its path, in a session of its own.

    The session ends as a whole when the program is finished, or when this process ends, even if it is killed; a child
    that makes a session of its own is not reached. The program reads what `source` holds, and writes to `output`; the
    caller may do something else meanwhile.

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
        self._end_group = _group_of(self._process)

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
        self._end_group()
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


if sys.platform == "win32":

    def _limiting(_: ProgramLimits) -> None:
        return None

    def _group_of(process: subprocess.Popen[bytes]) -> Callable[[], None]:
        """Put a program and what it starts into a job, which ends with the last handle to it: that of this process."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.CreateJobObjectW.restype = wintypes.HANDLE
        job = wintypes.HANDLE(kernel.CreateJobObjectW(None, None))
        limits = bytearray(_JOB_LIMITS_BYTES)
        limits[_JOB_FLAGS_AT : _JOB_FLAGS_AT + 4] = _KILL_ON_JOB_CLOSE.to_bytes(4, "little")
        kernel.SetInformationJobObject(job, _EXTENDED_LIMITS, bytes(limits), len(limits))
        kernel.AssignProcessToJobObject(job, wintypes.HANDLE(int(process._handle)))  # noqa: SLF001 - it has no public name

        def end() -> None:
            process.kill()
            kernel.CloseHandle(job)

        return end

    _EXTENDED_LIMITS: Final = 9
    _KILL_ON_JOB_CLOSE: Final = 0x2000
    _JOB_LIMITS_BYTES: Final = 144
    _JOB_FLAGS_AT: Final = 16
else:

    def _limiting(limits: ProgramLimits) -> Callable[[], None]:
        supervisor = _supervisor_pipe()

        def limit() -> None:
            os.write(supervisor, b"%d\n" % os.getpid())  # before it can start anything
            resource.setrlimit(
                resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1)
            )  # the signal that says why comes first
            resource.setrlimit(resource.RLIMIT_FSIZE, (limits.n_bytes, limits.n_bytes))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        return limit

    def _group_of(process: subprocess.Popen[bytes]) -> Callable[[], None]:
        def end() -> None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                process.kill()
            with contextlib.suppress(OSError):  # somebody has ended the supervisor
                os.write(_supervisors[-1].pipe, b"-%d\n" % process.pid)

        return end

    class _Supervisor(NamedTuple):
        process: subprocess.Popen[bytes]
        pipe: int

        def end(self) -> None:
            os.close(self.pipe)
            self.process.wait()

    _supervisors: Final[list[_Supervisor]] = []

    def _supervisor_pipe() -> int:
        """Return the pipe to a process that ends the groups whose numbers it reads when this process has ended."""
        if not _supervisors or _supervisors[-1].process.poll() is not None:
            reading, writing = os.pipe()
            process = subprocess.Popen(  # noqa: S603 - this program
                isolated_command("directory_indexer.isolation:end_groups", is_bare=True),
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=NEUTRAL_DIRECTORY,
                start_new_session=True,
            )
            os.close(reading)
            _supervisors.append(_Supervisor(process, writing))
            atexit.register(_supervisors[-1].end)
        return _supervisors[-1].pipe


def _shown(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"signal {-status}"


_OUT_OF_PROCESSOR_TIME: Final = 24
"""SIGXCPU, which ends a program that has used its seconds of the processor: 24 on Linux and macOS alike."""
