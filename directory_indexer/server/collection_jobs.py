"""Index runs of a server by collection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from directory_indexer.config.collections import CollectionName, of_collection
from directory_indexer.lazy import lazily
from directory_indexer.server.jobs import IndexJobs

with lazily:
    from directory_indexer.config import LoadedConfig
    from directory_indexer.docstore.runs import RunRecord
    from directory_indexer.team.collections import Collections
    from directory_indexer.team.opened import CollectionKey


class CollectionJobs:
    """The index runs of all collections; `command` returns the command line that starts one for a configuration."""

    def __init__(self, collections: Collections, *, command: Callable[[LoadedConfig], Sequence[str]]) -> None:
        self._collections = collections
        self._command = command
        self._lock = threading.Lock()
        self._jobs: dict[CollectionKey, IndexJobs] = {}

    def of(self, name: str) -> IndexJobs:
        """Return the index runs of a collection.

        Raises:
            NotIndexedError: the collection does not exist.
        """
        key = self._collections.key(name)
        with self._lock:
            if key not in self._jobs:
                self._jobs[key] = self._new(key[0])
            return self._jobs[key]

    def close(self) -> None:
        """Ask all runs to stop after the current batch."""
        with self._lock:
            for jobs in self._jobs.values():
                jobs.close()

    def _new(self, name: CollectionName) -> IndexJobs:
        def runs(limit: int) -> tuple[RunRecord, ...]:
            with self._collections.using(name) as opened:
                return opened.app.status.runs(limit)

        def running() -> RunRecord | None:
            with self._collections.using(name) as opened:
                return opened.app.status.running()

        def is_locked() -> bool:
            with self._collections.using(name) as opened:
                return opened.app.status.is_locked()

        command = self._command(of_collection(self._collections.loaded, name))
        return IndexJobs(command=command, runs=runs, running=running, is_locked=is_locked)
