"""Background indexing: one thread of a server makes sent documents searchable by keyword and by meaning."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from directory_indexer.errors import DirIndexError, NotIndexedError
from directory_indexer.registry.stored_documents import State
from directory_indexer.team.collections import Collections

_REMOVALS = ""
"""Stands for deleted collections among the names of others."""

_AGAIN_SECONDS = 60.0
"""The interval of retries, for instance when a service is away or another process was writing."""


class Background:
    """A thread that indexes requested collections, and continues the work of earlier processes.

    `on_failure` receives the errors that ended work on a collection.
    """

    def __init__(
        self, collections: Collections, *, on_failure: Callable[[str, DirIndexError], None] | None = None
    ) -> None:
        self._collections = collections
        self._on_failure = on_failure or _log_failure
        self._condition = threading.Condition()
        self._pending: dict[str, None] = {}
        self._later: set[str] = set()
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="documents", daemon=True)

    def start(self) -> None:
        """Start with all work that earlier processes left undone."""
        self._thread.start()

    def want(self, collection: str) -> None:
        """Request the indexing of a collection."""
        with self._condition:
            self._pending[collection] = None
            self._condition.notify_all()

    def want_removals(self) -> None:
        """Request the removal of collections that were deleted while somebody wrote to them."""
        self.want(_REMOVALS)

    def stop(self) -> None:
        """Request that it ends after the current batch; the rest is left to the next process."""
        with self._condition:
            self._is_over = True
            self._condition.notify_all()

    def join(self, seconds: float | None = None) -> None:
        """Wait until it has ended, or at most `seconds`."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _must_stop(self) -> bool:
        return self._is_over

    def _work(self) -> None:
        try:
            self._collections.recover()
        except DirIndexError as error:
            self._on_failure("", error)
        for collection in self._collections.names():
            self.want(collection)
        while (name := self._take_next()) is not None:
            try:
                if not self._update(name):
                    self._later.add(name)
            except NotIndexedError:
                continue  # the collection is gone
            except DirIndexError as error:
                self._later.add(name)
                self._on_failure(name, error)

    def _take_next(self) -> str | None:
        with self._condition:
            while not (self._pending or self._is_over):
                if not self._condition.wait(timeout=_AGAIN_SECONDS if self._later else None):
                    self._pending = dict.fromkeys(sorted(self._later))
                    self._later.clear()
            if self._is_over:
                return None
            name = next(iter(self._pending))
            del self._pending[name]
            return name

    def _update(self, name: str) -> bool:
        if name == _REMOVALS:
            self._collections.finish_deletions()
            return True
        with self._collections.using(name) as opened:
            if State.DELETING in opened.documents.to_do():
                opened.queue.recover()
            to_do = opened.documents.to_do()
            if State.QUEUED in to_do:
                opened.queue.index_words()
            if to_do & {State.QUEUED, State.WORDS}:
                return opened.queue.complete(must_stop=self._must_stop)
        return True


def _log_failure(collection: str, error: DirIndexError) -> None:
    logging.getLogger(__name__).warning("collection '%s': %s", collection, error.message)
