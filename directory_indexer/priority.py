"""Lowering of a process's priority for processor and disk."""

from __future__ import annotations

import contextlib
import os
import sys

from directory_indexer.lazy import lazily

with lazily:
    import ctypes
    import platform

_NICENESS = 10
"""A tenth of a core that another process wants, too. At the lowest priority, waiting for the end of a batch would take
half a minute while something is being compiled.
"""

_CURRENT_PROCESS = -1
_IDLE_PRIORITY_CLASS = 0x40
"""Not the background mode, which also takes most of a process's memory."""

_IO_CALLS = {"x86_64": 251, "aarch64": 30, "riscv64": 30, "armv7l": 314}
"""System call numbers of ioprio_set, which the C library does not wrap."""

_IO_OF_PROCESS, _LAST_OF_BEST_EFFORT = 1, 2 << 13 | 7
"""The lowest best-effort level. The idle class could wait forever on a busy disk."""

_DISK, _WHOLE_PROCESS, _UTILITY = 0, 0, 4


def step_back() -> None:
    """Lower the priority of this process permanently: only root can raise it again.

    On Linux it applies to the calling thread and those it starts, for disk access as well, and to all processes they
    start. On Windows it is the idle priority class, for the processor only.
    """
    if sys.platform == "win32":
        ctypes.windll.kernel32.SetPriorityClass(ctypes.c_void_p(_CURRENT_PROCESS), _IDLE_PRIORITY_CLASS)
        return
    # A sandbox may forbid it, and a C library lack it; then the priority stays.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    with contextlib.suppress(OSError, AttributeError):
        _read_and_write_last()


def _read_and_write_last() -> None:
    if sys.platform == "darwin":
        ctypes.CDLL(None).setiopolicy_np(_DISK, _WHOLE_PROCESS, _UTILITY)
    elif number := _IO_CALLS.get(platform.machine()):
        ctypes.CDLL(None).syscall(number, _IO_OF_PROCESS, 0, _LAST_OF_BEST_EFFORT)
