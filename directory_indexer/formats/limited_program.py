"""Programs run on one file: no shell, no environment, a directory of its own, and enforced limits."""

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

from directory_indexer.core.errors import ReaderError
from directory_indexer.core.isolation import NEUTRAL_DIRECTORY, isolated_command

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes
else:
    import resource


class ProgramLimits(NamedTuple):
    """Resource limits of a program: seconds, both of CPU and wall-clock time, and bytes written."""

    seconds: int
    n_bytes: int


class LimitedProgram:
    """A running program, in a session of its own.

    The session is killed as a whole when the program finishes or when this process ends, even if that is killed; a
    child that starts a session of its own escapes. The program reads `source` and writes to `output`; the caller may do
    something else meanwhile.

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
            raise ReaderError(f"{self._name} ends with {_format_status(status)}")

    def end(self) -> None:
        """Kill its process group, and reap it."""
        self._end_group()
        self._process.wait()


def find_program(name: str) -> str:
    """Return the path of a program on the user's PATH, and never one in an indexed directory; "" if there is none."""
    if os.path.isabs(name):
        return name
    if os.path.basename(name) != name:  # it would be relative to the working directory
        return ""
    place = shutil.which(name, path=_absolute_entries(os.environ.get("PATH", "")))
    return place or (_part_of_windows(name) if sys.platform == "win32" else "")


def _part_of_windows(name: str) -> str:
    """Return the path of a program that Windows has under a name of its own; "" if it has none."""
    own = os.path.join(os.environ.get("SYSTEMROOT", ""), "System32", _NAMES_IN_WINDOWS.get(name, name))
    return own if name in _NAMES_IN_WINDOWS and os.path.isfile(own) else ""


_NAMES_IN_WINDOWS: Final = {"bsdtar": "tar.exe"}


def _absolute_entries(path: str) -> str:
    entries = (path or os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


if sys.platform == "win32":

    def _limiting(_: ProgramLimits) -> None:
        return None

    def _group_of(process: subprocess.Popen[bytes]) -> Callable[[], None]:
        """Put a program and its children into a job, which ends with its last handle: that of this process."""
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
            os.write(supervisor, b"%d\n" % os.getpid())  # before it can start children
            resource.setrlimit(
                resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1)
            )  # SIGXCPU comes before SIGKILL and tells the reason
            resource.setrlimit(resource.RLIMIT_FSIZE, (limits.n_bytes, limits.n_bytes))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        return limit

    def _group_of(process: subprocess.Popen[bytes]) -> Callable[[], None]:
        def end() -> None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                process.kill()
            with contextlib.suppress(OSError):  # the supervisor was killed
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
        """Return the pipe to a process that kills the groups whose ids it has read when this process ends."""
        if not _supervisors or _supervisors[-1].process.poll() is not None:
            reading, writing = os.pipe()
            process = subprocess.Popen(  # noqa: S603 - this program
                isolated_command("directory_indexer.core.isolation:kill_process_groups_on_exit", is_bare=True),
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


def _format_status(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"signal {-status}"


_OUT_OF_PROCESSOR_TIME: Final = 24
"""SIGXCPU, which ends a program at its CPU limit: 24 on Linux and macOS alike."""
