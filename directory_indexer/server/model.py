"""The embedding model behind a server: loaded in the background, so that nobody waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import StrEnum

from directory_indexer.embedders import Embedder
from directory_indexer.errors import DirIndexError


class ModelState(StrEnum):
    """How far the model is."""

    UNLOADED = "unloaded"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class BackgroundModel:
    """Load the model once, in a thread that ends with the process."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._is_settled = threading.Event()
        self.state = ModelState.UNLOADED
        self.message: str | None = None
        self.seconds: float | None = None

    def start(self) -> None:
        """Begin to load, unless that has begun."""
        with self._lock:
            if self.state is not ModelState.UNLOADED:
                return
            self.state = ModelState.LOADING
        threading.Thread(target=self._run, name="model", daemon=True).start()

    def is_usable(self, *, within_seconds: float) -> bool:
        """Tell whether asking it is no waiting; a model that failed is asked, for its error says what to do."""
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
