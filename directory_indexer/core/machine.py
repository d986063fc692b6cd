"""Resources of this machine: priority of a process, charge of the battery, memory for native libraries, file watches.

A process that has reached the system's limit of watches holds the lock of a file beside the database meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from directory_indexer.core.errors import ProviderError, VectorStoreError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.lock import is_locked

with lazily:
    import ctypes
    import mmap
    import platform
    import subprocess

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

POWER_SUPPLIES = Path("/sys/class/power_supply")
"""The directory in which Linux exposes batteries and mains."""

_PMSET_SECONDS = 5
_PERCENT = re.compile(r"\b(\d{1,3})%")
_WINDOWS_ON_BATTERY, _WINDOWS_UNKNOWN = 0, 255

_M_ARENA_MAX = -8
_MAX_HEAPS = 2
_REQUIRED_ADDRESS_SPACE = 134_217_728
"""With less than half of that, OpenBLAS ends the process when NumPy is imported."""


def lower_priority() -> None:
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
        _lower_io_priority()


def battery_percent(supplies: Path = POWER_SUPPLIES) -> int | None:
    """Return the battery charge while the machine runs on it; None on mains, without a battery, or if unknown."""
    if sys.platform == "win32":
        return _windows_percent()
    if sys.platform == "darwin":
        return _pmset_percent()
    return _linux_percent(supplies)


def limit_malloc_arenas() -> None:
    """Make all threads share two heaps, with the GNU C library.

    It would give each new thread one of its own, up to eight for each core, and the vector engine starts new threads at
    every merge: what they free stays in unused heaps. The limit has to be set before there are more than eight.
    """
    if sys.platform != "linux":
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # missing in musl
    if set_option:
        set_option(_M_ARENA_MAX, _MAX_HEAPS)


@contextlib.contextmanager
def translate_import_errors(what: str, kind: type[ProviderError | VectorStoreError]) -> Iterator[None]:
    """Load libraries, some of which end the process if there is no memory for them.

    Raises:
        ProviderError | VectorStoreError: the `kind` of error, if they cannot be loaded.
    """
    try:
        _require_address_space()
        yield
    except (ImportError, MemoryError) as error:
        reason = "not enough memory" if isinstance(error, MemoryError) else _root_message(error)
        raise kind(f"{what} cannot be loaded: {reason}", hint="free some memory, or install dirindex again") from error


def _lower_io_priority() -> None:
    if sys.platform == "darwin":
        ctypes.CDLL(None).setiopolicy_np(_DISK, _WHOLE_PROCESS, _UTILITY)
    elif number := _IO_CALLS.get(platform.machine()):
        ctypes.CDLL(None).syscall(number, _IO_OF_PROCESS, 0, _LAST_OF_BEST_EFFORT)


def _linux_percent(supplies: Path) -> int | None:
    """Return the charge of the machine's own batteries: those of mice and headsets are in the same place (`scope`)."""
    try:
        devices = sorted(supplies.iterdir())
    except OSError:
        return None
    batteries = [
        supply
        for supply in devices
        if _read_supply_file(supply, "type") == "Battery" and _read_supply_file(supply, "scope") != "Device"
    ]
    if not any(_read_supply_file(battery, "status") == "Discharging" for battery in batteries):
        return None
    levels = [int(level) for battery in batteries if (level := _read_supply_file(battery, "capacity")).isdecimal()]
    return sum(levels) // len(levels) if levels else None


def _read_supply_file(supply: Path, name: str) -> str:
    try:
        return (supply / name).read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # a driver need not support everything, and a battery may be removed
        return ""


def _pmset_percent() -> int | None:
    try:
        output = subprocess.run(
            ["/usr/bin/pmset", "-g", "batt"], capture_output=True, timeout=_PMSET_SECONDS, check=True, text=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    level = _PERCENT.search(output)
    return int(level[1]) if level and "'Battery Power'" in output else None


def _windows_percent() -> int | None:
    # SYSTEM_POWER_STATUS: a byte each for mains, state of the battery, percent and saver, then two numbers of four.
    status = (ctypes.c_ubyte * 12)()
    if not ctypes.windll.kernel32.GetSystemPowerStatus(ctypes.byref(status)):  # type: ignore[attr-defined,unused-ignore]
        return None
    mains, percent = status[0], status[2]
    return None if mains != _WINDOWS_ON_BATTERY or percent == _WINDOWS_UNKNOWN else int(percent)


def _root_message(error: ImportError) -> str:
    """Return the innermost cause: numpy wraps a page of advice around the name of a missing library."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return str(cause).partition("\n")[0]


def _require_address_space() -> None:
    try:
        mmap.mmap(-1, _REQUIRED_ADDRESS_SPACE).close()
    except OSError as error:
        raise MemoryError from error


WATCH_MARK: Final = "watch.limited"
WATCHES_MESSAGE: Final = (
    "the system allows no more watches: changes in some directories take a minute or more to come in"
)
WATCHES_HINT: Final = (
    "sysctl fs.inotify.max_user_watches and fs.inotify.max_user_instances show the limits, and raise them"
)


def watch_limit_path(database: Path) -> Path:
    """Return the file whose lock is held while the limit is reached."""
    return database.with_name(WATCH_MARK)


def is_watching_limited(database: Path) -> bool:
    """Whether a process can watch only a part of the directories of an index."""
    return is_locked(watch_limit_path(database))
