"""Embedding model of a server, loaded in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import StrEnum

from directory_indexer.core.errors import DirIndexError
from directory_indexer.embedding import Embedder


class ModelState(StrEnum):
    """The loading state of the model."""

    UNLOADED = "unloaded"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class BackgroundModel:
    """A model that is loaded once, in a daemon thread."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._is_settled = threading.Event()
        self.state = ModelState.UNLOADED
        self.message: str | None = None
        self.seconds: float | None = None

    def start(self) -> None:
        """Start loading, unless that has been done."""
        with self._lock:
            if self.state is not ModelState.UNLOADED:
                return
            self.state = ModelState.LOADING
        threading.Thread(target=self._run, name="model", daemon=True).start()

    def is_usable(self, *, within_seconds: float) -> bool:
        """Whether the model is loaded or has failed within some seconds; using a failed one raises a helpful error."""
        self.start()
        return self._is_settled.wait(within_seconds)

    def _run(self) -> None:
        started = time.monotonic()
        try:
            self._load().embed_query("first")
        except DirIndexError as error:
            self.message = error.message
            self.state = ModelState.FAILED
        else:
            self.state = ModelState.READY
        finally:
            if self.state is ModelState.LOADING:
                self.state = ModelState.FAILED
            self.seconds = time.monotonic() - started
            self._is_settled.set()
