"""Times of the last use of keys: collected during requests, and written periodically by a thread."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from directory_indexer.errors import StoreError

_PAUSE_SECONDS: Final = 60.0
_log = logging.getLogger("dirindex.serve")


class KeyUses:
    """The unwritten times of use; the thread runs only while there are any, and for a minute afterwards."""

    def __init__(
        self, write: Callable[[Mapping[bytes, float]], None], *, pause_seconds: float = _PAUSE_SECONDS
    ) -> None:
        self._write = write
        self._pause_seconds = pause_seconds
        self._lock = threading.Lock()
        self._used_at: dict[bytes, float] = {}
        self._is_closed = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, digest: bytes) -> None:
        """Record that a key is used now, without I/O."""
        with self._lock:
            self._used_at[digest] = time.time()
            if self._thread is None and not self._is_closed.is_set():
                self._thread = threading.Thread(target=self._write_periodically, name="key uses", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Write the remaining times."""
        self._is_closed.set()
        if thread := self._thread:
            thread.join()

    def _write_periodically(self) -> None:
        while used_at := self._take_all():
            try:
                self._write(used_at)
            except StoreError as error:  # these times are lost; no request depends on them
                _log.warning("when keys were used cannot be written: %s", error.message)
            self._is_closed.wait(self._pause_seconds)

    def _take_all(self) -> dict[bytes, float]:
        with self._lock:
            used_at, self._used_at = self._used_at, {}
            if not used_at:
                self._thread = None
            return used_at
