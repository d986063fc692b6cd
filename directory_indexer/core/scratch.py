"""Temporary directories that are removed with their process, however it ends.

They are beside the database of an index, or in the system's temporary directory without an index. Each has a lock that
its process holds: a directory whose lock is free was left by a killed process, and is removed by the next one that
writes to the index or creates such a directory.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from directory_indexer.core.kept_files import directory_mode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.lock import HeldLock, try_lock

with lazily:
    import secrets  # which loads the library of hashes: 10 ms
    import shutil
    import tempfile
    import weakref


def scratch_beside(database: Path) -> Path:
    """Return the parent of an index's temporary directories."""
    return database.with_name(NAME)


class ScratchDirectory:
    """A directory that only this user can read, below `place` if its parent exists.

    Raises:
        OSError: there is no room, or no writable place.
    """

    def __init__(self, place: Path | None) -> None:
        self.path, lock = _create(place)
        self._removal = weakref.finalize(self, _remove, self.path, lock)

    def remove(self) -> None:
        """Remove it with its content; doing it twice is harmless."""
        self._removal()


def remove_abandoned(place: Path | None = None) -> None:
    """Remove the directories of killed processes in a place, by default in the system's temporary directory."""
    for path in _own_directories_in(place or _system_temporary_directory()):
        with contextlib.suppress(OSError):
            if lock := try_lock(_lock_of(path), exclusive=True):
                _remove(path, lock)


def scratch_directories_in_use(place: Path) -> list[Path]:
    """Return the directories in a place that are not empty, after abandoned ones were removed."""
    return [path for path in _own_directories_in(place) if any(path.glob("*"))]


def _create(place: Path | None) -> tuple[Path, HeldLock]:
    if place is not None and place.parent.is_dir():
        with contextlib.suppress(OSError):  # it may be read-only
            place.mkdir(mode=directory_mode(), exist_ok=True)
            return _create_in(place)
    return _create_in(_system_temporary_directory())


def _create_in(place: Path) -> tuple[Path, HeldLock]:
    if place not in _cleaned_places:
        _cleaned_places.add(place)
        remove_abandoned(place)
    while True:
        path = place / f"{_PREFIX}{secrets.token_hex(8)}"
        lock = try_lock(_lock_of(path), exclusive=True)
        # Another process may have removed it as abandoned before it was locked.
        if lock is not None and _lock_of(path).exists():
            path.mkdir(mode=_PRIVATE_MODE)
            return path, lock
        if lock is not None:
            lock.release()


def _remove(path: Path, lock: HeldLock) -> None:
    shutil.rmtree(path, ignore_errors=True)
    lock.release()
    if not os.path.lexists(path):  # otherwise the next process retries
        with contextlib.suppress(OSError):
            _lock_of(path).unlink(missing_ok=True)


def _own_directories_in(place: Path) -> Iterator[Path]:
    for lock_path in place.glob(f"{_PREFIX}*{_LOCK_SUFFIX}"):
        with contextlib.suppress(OSError):
            status = lock_path.lstat()
            if stat.S_ISREG(status.st_mode) and (os.name != "posix" or status.st_uid == os.geteuid()):
                yield lock_path.with_suffix("")


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + _LOCK_SUFFIX)


def _system_temporary_directory() -> Path:
    return Path(tempfile.gettempdir())


NAME: Final = "scratch"
_PREFIX: Final = "dirindex-"
_LOCK_SUFFIX: Final = ".lock"
_PRIVATE_MODE: Final = 0o700
_cleaned_places: Final[set[Path]] = set()
