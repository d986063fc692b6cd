"""When keys were last used: gathered while requests are answered, and written now and then by a thread of its own."""

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
    """The uses that are not written yet; there is a thread only while there are any, and for a minute after."""

    def __init__(
        self, write: Callable[[Mapping[bytes, float]], None], *, pause_seconds: float = _PAUSE_SECONDS
    ) -> None:
        self._write = write
        self._pause_seconds = pause_seconds
        self._lock = threading.Lock()
        self._used_at: dict[bytes, float] = {}
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, digest: bytes) -> None:
        """Note that the key of a digest is used now; it takes no time."""
        with self._lock:
            self._used_at[digest] = time.time()
            if self._thread is None and not self._is_over.is_set():
                self._thread = threading.Thread(target=self._work, name="key uses", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Write what is left."""
        self._is_over.set()
        if thread := self._thread:
            thread.join()

    def _work(self) -> None:
        while used_at := self._taken():
            try:
                self._write(used_at)
            except StoreError as error:  # that a key was used is lost; nobody waits for it
                _log.warning("when keys were used cannot be written: %s", error.message)
            self._is_over.wait(self._pause_seconds)

    def _taken(self) -> dict[bytes, float]:
        with self._lock:
            used_at, self._used_at = self._used_at, {}
            if not used_at:
                self._thread = None
            return used_at
