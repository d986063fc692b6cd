"""How a process steps back behind the others: it computes, reads and writes when they do not."""

from __future__ import annotations

import contextlib
import os
import sys

from directory_indexer.lazy import lazily

with lazily:
    import ctypes

_NICENESS = 10
"""It gets a tenth of a core that another process wants, too. With the least of all, who waits for its batch to end
would wait half a minute where something is being compiled."""

_CURRENT_PROCESS = -1
_IDLE_PRIORITY_CLASS = 0x40
"""Not the mode for background work, which takes most of its memory from a process as well."""


def step_back() -> None:
    """Give this process a low priority, for good: nobody but root can raise it again.

    On Linux it is that of the calling thread and of those that it starts, and the priority of what they read and write
    follows it; on Windows it is the class for idle time, for the processor alone.
    """
    if sys.platform == "win32":
        ctypes.windll.kernel32.SetPriorityClass(ctypes.c_void_p(_CURRENT_PROCESS), _IDLE_PRIORITY_CLASS)
        return
    with contextlib.suppress(OSError):  # a sandbox may forbid it; then it computes like the others
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
