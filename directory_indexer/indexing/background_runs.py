"""Background runs in processes of their own: embedding while this one watches or serves, and reading of changed files.

A process that embeds can lower its priority without slowing down answers of this one; one process per index does so.
The results of both are kept however they end.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from directory_indexer.config import DEFAULT, LoadedConfig
from directory_indexer.config.settings import with_absolute_paths
from directory_indexer.core.errors import DirIndexError, ExitCode
from directory_indexer.core.isolation import NEUTRAL_DIRECTORY, isolated_command, without_python_settings
from directory_indexer.core.lock import try_lock
from directory_indexer.core.paths import FilePath, exact_text
from directory_indexer.storage.documents import IndexScope

_POLL_SECONDS = 1.0
_TAKE_OVER_SECONDS = 5.0
_RETRY_SECONDS, _MAX_RETRY_SECONDS = 60.0, 3600.0
_log = logging.getLogger("dirindex.embedding")


class EmbeddingWork(NamedTuple):
    """Number of chunks that wait for vectors, and whether another process writes to the index now."""

    n_chunks: int
    is_locked: bool


class EmbeddingProcess:
    """Embeds waiting chunks whenever no other process does, from a thread that ends with the process.

    With `releases_when_idle`, it releases its lock while nothing waits for it, so that others may embed what it must
    not.
    """

    def __init__(
        self,
        *,
        command: Sequence[str],
        waiting: Callable[[], EmbeddingWork],
        lock_path: Path,
        releases_when_idle: bool = False,
    ) -> None:
        self._command = tuple(command)
        self._waiting = waiting
        self._lock_path = lock_path
        self._releases_when_idle = releases_when_idle
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._retry_seconds = _RETRY_SECONDS
        self._n_given_up = 0

    def start(self) -> None:
        """Start, or wait until the process that embeds has ended."""
        threading.Thread(target=self._run, name="embedding", daemon=True).start()

    def stop(self) -> None:
        """Stop the embedding after its batch, and start no more."""
        with self._lock:
            self._stopped.set()
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                exists = self._lock_path.parent.is_dir()  # there is no index before the first run
                if exists and (lock := try_lock(self._lock_path, exclusive=True)) is not None:
                    with lock:
                        self._embed_until_stopped()
            except (DirIndexError, OSError) as error:
                _log.warning("cannot embed in the background: %s", error)
            self._stopped.wait(_TAKE_OVER_SECONDS)

    def _embed_until_stopped(self) -> None:
        while not self._stopped.wait(_POLL_SECONDS):
            waiting = self._waiting()
            # After it was told to stop, it only starts again for new chunks.
            self._n_given_up = min(self._n_given_up, waiting.n_chunks)
            has_work = waiting.n_chunks > self._n_given_up
            if has_work and not waiting.is_locked:
                self._run_embedding_process()
            elif self._releases_when_idle and not has_work:
                return

    def _run_embedding_process(self) -> None:
        with self._lock:
            if self._stopped.is_set():
                return
            self._process = process = _start_child(self._command)
        code = process.wait()
        n_remaining = self._waiting().n_chunks
        if code == ExitCode.INTERRUPTED:
            self._n_given_up = n_remaining
        elif n_remaining:
            _log.info("embedding in the background ended with %d; it goes on in %d s", code, self._retry_seconds)
            self._stopped.wait(self._retry_seconds)
            self._retry_seconds = min(2 * self._retry_seconds, _MAX_RETRY_SECONDS)
        else:
            self._retry_seconds = _RETRY_SECONDS


class ReadingProcess:
    """Makes changed files searchable by words, in a process that outlives this one; one at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._directories: frozenset[FilePath] = frozenset()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, directories: Sequence[FilePath]) -> bool:
        """Start to read what has changed in directories, unless one is running; return whether it covers them all."""
        if self._process is not None and self._process.poll() is None:
            return self._directories.issuperset(directories)
        try:
            # An interrupt from the keyboard is for the command alone.
            self._process = _start_child((*self._command, *map(exact_text, directories)), in_own_session=True)
        except OSError:
            return False
        self._directories = frozenset(directories)
        return True

    def wait(self) -> int:
        """Wait for the end of the process, and return its exit code; 0 if there is none."""
        return 0 if self._process is None else self._process.wait()


def _start_child(command: Sequence[str], *, in_own_session: bool = False) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - this program
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=NEUTRAL_DIRECTORY,
        env=without_python_settings(with_absolute_paths(os.environ)),
        start_new_session=in_own_session,
    )


def index_command(loaded: LoadedConfig, *, effort: str = "background") -> tuple[str, ...]:
    """Return the command that indexes into the same index at low priority; resolved directories are appended to it."""
    config = ("--config", str(loaded.file)) if loaded.file else ()
    where = ("--data-dir", str(loaded.data_dir))
    which = () if loaded.collection == DEFAULT else ("--collection", loaded.collection)
    words = ("index", "--json", "--quiet", "--exact", "--from-server", "--effort", effort, *config, *where, *which)
    return isolated_command("directory_indexer.cli:main", *words)


def embedding_command(loaded: LoadedConfig, scope: IndexScope) -> tuple[str, ...]:
    """Return the command that embeds waiting chunks in a part of the same index, without reading directories."""
    return (*index_command(loaded), "--waiting-only", "--unless-paused", "--", *map(exact_text, scope.roots))


def reading_command(loaded: LoadedConfig) -> tuple[str, ...]:
    """Return the command that makes changes searchable by words; the tracked directories are appended to it."""
    words = ("--no-ocr", "--no-wait", "--tracked-only", "--unless-paused", "--")
    return (*index_command(loaded, effort="none"), *words)
