"""Watching of tracked directories while a server runs; only one server of an index does it at a time."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from directory_indexer.core import machine
from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.kept_files import directory_mode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.lock import try_lock
from directory_indexer.core.paths import FilePath
from directory_indexer.indexing.watch import Watch
from directory_indexer.storage.documents.runs import Outcome

with lazily:
    from directory_indexer.server.index_jobs import IndexJobs


_RETRY_SECONDS = 5.0
_CHECK_SECONDS = 2.0
_POLL_SECONDS = 0.1
_log = logging.getLogger("dirindex.serve")


class DirectoryWatch:
    """A watch of the tracked directories, in a daemon thread."""

    def __init__(
        self,
        *,
        tracked: Callable[[], Sequence[FilePath]],
        directories: Callable[[Sequence[FilePath]], Iterable[FilePath]],
        jobs: IndexJobs,
        is_paused: Callable[[], bool],
        lock_path: Path,
        data_dir: Path,
    ) -> None:
        self._tracked = tracked
        self._directories = directories
        self._jobs = jobs
        self._is_paused = is_paused
        self._lock_path = lock_path
        self._data_dir = data_dir
        self._stopped = threading.Event()
        self._is_watching = False
        self._checked_at = 0.0

    @property
    def is_watching(self) -> bool:
        """Whether all changes are indexed automatically, by this server or another one."""
        is_limited = machine.is_watching_limited(self._lock_path)
        return self._is_watching and not is_limited and not self._is_paused()

    def start(self) -> None:
        """Start watching, or waiting for the end of the server that does so."""
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def stop(self) -> None:
        """Stop watching; another server may take over."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(0.1):
            try:
                # A server that starts without an index precedes the data directory.
                self._lock_path.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
                lock = try_lock(self._lock_path, exclusive=True)
            except OSError as error:
                _log.warning("cannot watch: %s", error)
                self._stopped.wait(_RETRY_SECONDS)
                continue
            if lock is None:
                self._is_watching = True
                self._stopped.wait(_RETRY_SECONDS)
                continue
            with lock:
                self._watch_until_stopped()

    def _watch_until_stopped(self) -> None:
        while not self._stopped.is_set():
            try:
                if roots := list(self._tracked()):
                    self._watch(roots)
                else:
                    self._stopped.wait(_CHECK_SECONDS)
            except (DirIndexError, OSError) as error:
                self._is_watching = False
                _log.warning("cannot watch: %s", error)
                self._stopped.wait(_RETRY_SECONDS)

    def _watch(self, roots: list[FilePath]) -> None:
        def stop_reason() -> Outcome | None:
            if self._stopped.is_set() or self._roots_have_changed(roots):
                return Outcome.INTERRUPTED
            return None

        own = os.path.realpath(self._data_dir)
        self._is_watching = True
        Watch(
            roots=roots,
            update=self._update,
            directories=self._directories,
            stop_reason=stop_reason,
            except_below=own,
            is_held=self._is_paused,
            on_limit=lambda: _log.warning("%s (%s)", machine.WATCHES_MESSAGE, machine.WATCHES_HINT),
            limit_path=machine.watch_limit_path(self._lock_path),
        ).run()

    def _update(self, roots: Sequence[FilePath]) -> None:
        """Index changes in a new run: one in progress may already have passed the changed files."""
        job = self._jobs.update(tuple(roots))
        job.is_reported = True
        # Once the run only embeds, later changes need not wait for it.
        while job.process.poll() is None and not self._jobs.yields_lock(job) and not self._stopped.is_set():
            self._stopped.wait(_POLL_SECONDS)

    def _roots_have_changed(self, roots: list[FilePath]) -> bool:
        now = time.monotonic()
        if now - self._checked_at < _CHECK_SECONDS:
            return False
        self._checked_at = now
        return list(self._tracked()) != roots
