"""Work that nobody waits for: one thread of a server gives what was sent its words and its vectors."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from directory_indexer.errors import DirIndexError, NotIndexedError
from directory_indexer.registry.stored_documents import State
from directory_indexer.team.collections import Collections

_REMOVALS = ""
"""Stands for the collections that were deleted, among the names of others."""

_AGAIN_SECONDS = 60.0
"""What could not be done, for a service is away or another process was at work, is tried again after so long."""


class Background:
    """One thread that brings collections up to date of which it is told; it goes on with what earlier processes left.

    `on_failure` hears why work on a collection ended early.
    """

    def __init__(
        self, collections: Collections, *, on_failure: Callable[[str, DirIndexError], None] | None = None
    ) -> None:
        self._collections = collections
        self._on_failure = on_failure or _logged
        self._condition = threading.Condition()
        self._wanted: dict[str, None] = {}
        self._later: set[str] = set()
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="documents", daemon=True)

    def start(self) -> None:
        """Begin, with all that processes that are gone left undone."""
        self._thread.start()

    def want(self, collection: str) -> None:
        """Have a collection brought up to date."""
        with self._condition:
            self._wanted[collection] = None
            self._condition.notify_all()

    def want_removals(self) -> None:
        """Have collections removed from the disk that were deleted while somebody wrote to them."""
        self.want(_REMOVALS)

    def stop(self) -> None:
        """Have it end after the batch in hand; what is left is for the next process."""
        with self._condition:
            self._is_over = True
            self._condition.notify_all()

    def join(self, seconds: float | None = None) -> None:
        """Wait until it has ended, or so long."""
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
        while (name := self._next()) is not None:
            try:
                if not self._bring_up_to_date(name):
                    self._later.add(name)
            except NotIndexedError:
                continue  # the collection is gone
            except DirIndexError as error:
                self._later.add(name)
                self._on_failure(name, error)

    def _next(self) -> str | None:
        with self._condition:
            while not (self._wanted or self._is_over):
                if not self._condition.wait(timeout=_AGAIN_SECONDS if self._later else None):
                    self._wanted = dict.fromkeys(sorted(self._later))
                    self._later.clear()
            if self._is_over:
                return None
            name = next(iter(self._wanted))
            del self._wanted[name]
            return name

    def _bring_up_to_date(self, name: str) -> bool:
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


def _logged(collection: str, error: DirIndexError) -> None:
    logging.getLogger(__name__).warning("collection '%s': %s", collection, error.message)
