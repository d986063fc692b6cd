"""Lets a process step back behind the others: it computes, reads and writes when they do not."""

from __future__ import annotations

import contextlib
import os
import sys

from directory_indexer.lazy import lazily

with lazily:
    import ctypes
    import platform

_NICENESS = 10
"""It gets a tenth of a core that another process wants, too. With the least of all, who waits for its batch to end
would wait half a minute where something is being compiled."""

_CURRENT_PROCESS = -1
_IDLE_PRIORITY_CLASS = 0x40
"""Not the mode for background work, which takes most of its memory from a process as well."""

_IO_CALLS = {"x86_64": 251, "aarch64": 30, "riscv64": 30, "armv7l": 314}
"""The number of ioprio_set, which the C library has no function for."""

_IO_OF_PROCESS, _LAST_OF_BEST_EFFORT = 1, 2 << 13 | 7
"""The last of those that share the disk. The class for idle time would wait for ever on a disk that is never idle."""

_DISK, _WHOLE_PROCESS, _UTILITY = 0, 0, 4


def step_back() -> None:
    """Return this process a low priority, for good: nobody but root can raise it again.

    On Linux it is that of the calling thread and of those that it starts, for what they read and write as well; so it
    is of all processes that they start. On Windows it is the class for idle time, for the processor alone.
    """
    if sys.platform == "win32":
        ctypes.windll.kernel32.SetPriorityClass(ctypes.c_void_p(_CURRENT_PROCESS), _IDLE_PRIORITY_CLASS)
        return
    # A sandbox may forbid it, and a C library lack it; then it goes on like the others.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    with contextlib.suppress(OSError, AttributeError):
        _read_and_write_last()


def _read_and_write_last() -> None:
    if sys.platform == "darwin":
        ctypes.CDLL(None).setiopolicy_np(_DISK, _WHOLE_PROCESS, _UTILITY)
    elif number := _IO_CALLS.get(platform.machine()):
        ctypes.CDLL(None).syscall(number, _IO_OF_PROCESS, 0, _LAST_OF_BEST_EFFORT)
