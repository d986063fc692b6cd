"""How many heaps the C library keeps for the threads of a process."""

from __future__ import annotations

import sys

_M_ARENA_MAX = -8
_N_HEAPS = 2


def share_heaps() -> None:
    """Let all threads share two heaps, where the C library is that of GNU.

    It would give each new thread one of its own, up to eight for each core, and the vector engine starts new threads
    at every merge: what they free lies in heaps that nobody uses. It decides once, when there are more than eight.
    """
    if sys.platform != "linux":
        return
    # Only a run that embeds pays for it, and numpy needs it anyway.
    import ctypes  # noqa: PLC0415

    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if set_option:
        set_option(_M_ARENA_MAX, _N_HEAPS)
