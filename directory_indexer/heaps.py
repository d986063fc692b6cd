"""How many heaps the C library keeps for the threads of a process, and whether there is room for libraries."""

from __future__ import annotations

import sys

from directory_indexer.lazy import lazily

with lazily:
    import ctypes
    import mmap


_M_ARENA_MAX = -8
_N_HEAPS = 2
_ROOM_BYTES = 134_217_728
"""With less than half of that, OpenBLAS ends the process when NumPy is imported."""


def share_heaps() -> None:
    """Let all threads share two heaps, where the C library is that of GNU.

    It would give each new thread one of its own, up to eight for each core, and the vector engine starts new threads
    at every merge: what they free lies in heaps that nobody uses. It decides once, when there are more than eight.
    """
    if sys.platform != "linux":
        return
    # Only a run that embeds pays for it, and numpy needs it anyway.

    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if set_option:
        set_option(_M_ARENA_MAX, _N_HEAPS)


def require_room() -> None:
    """Look whether there is memory for what libraries take when they are loaded; some of them end the process if not.

    Raises:
        MemoryError: there is not.
    """
    try:
        mmap.mmap(-1, _ROOM_BYTES).close()
    except OSError as error:
        raise MemoryError from error
