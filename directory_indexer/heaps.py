"""Memory for native libraries: the number of heaps of their threads, and a check for room to load them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from directory_indexer.errors import ProviderError, VectorStoreError
from directory_indexer.lazy import lazily

with lazily:
    import ctypes
    import mmap


_M_ARENA_MAX = -8
_N_HEAPS = 2
_ROOM_BYTES = 134_217_728
"""With less than half of that, OpenBLAS ends the process when NumPy is imported."""


def share_heaps() -> None:
    """Make all threads share two heaps, with the GNU C library.

    It would give each new thread one of its own, up to eight for each core, and the vector engine starts new threads at
    every merge: what they free stays in unused heaps. The limit has to be set before there are more than eight.
    """
    if sys.platform != "linux":
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # missing in musl
    if set_option:
        set_option(_M_ARENA_MAX, _N_HEAPS)


@contextlib.contextmanager
def loading(what: str, kind: type[ProviderError | VectorStoreError]) -> Iterator[None]:
    """Load libraries, some of which end the process if there is no memory for them.

    Raises:
        ProviderError | VectorStoreError: the `kind` of error, if they cannot be loaded.
    """
    try:
        _require_room()
        yield
    except (ImportError, MemoryError) as error:
        reason = "not enough memory" if isinstance(error, MemoryError) else _innermost_message(error)
        raise kind(f"{what} cannot be loaded: {reason}", hint="free some memory, or install dirindex again") from error


def _innermost_message(error: ImportError) -> str:
    """Return the innermost cause: numpy wraps a page of advice around the name of a missing library."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return str(cause).partition("\n")[0]


def _require_room() -> None:
    try:
        mmap.mmap(-1, _ROOM_BYTES).close()
    except OSError as error:
        raise MemoryError from error
