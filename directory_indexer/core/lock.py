"""Locks on files that the operating system keeps, and releases when their process ends, however it ends.

On POSIX they are `flock` locks, which belong to one opening of the file. Those of `lockf` belong to the process: two
threads would not exclude each other, and closing any other descriptor of the file would release them.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Self

from directory_indexer.core.errors import LockedError, StoreError
from directory_indexer.core.kept_files import file_mode

if sys.platform == "win32":
    import portalocker
else:
    import fcntl

_POLL_SECONDS = 0.03
_POLL_SECONDS_LATER = 0.1
_EARLY_POLLS = 100
"""A wait for a question or a batch takes less than three seconds; behind a long run, polling should be cheap."""

_BRIEF_ATTEMPTS = 4
_BRIEF_SECONDS = 0.01
"""Even without waiting, an attempt outlasts an `is_locked` of another process, which holds the lock for microseconds.
"""

_held_descriptors: set[int] = set()


class HeldLock:
    """A lock that this process holds until it is released, or until the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        _held_descriptors.add(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def is_held(self) -> bool:
        """Whether it was not released yet."""
        return self._descriptor in _held_descriptors

    def release(self) -> None:
        """Release the lock; doing it twice is harmless."""
        if self._descriptor in _held_descriptors:
            _held_descriptors.remove(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


class WriteLock:
    """The write lock of a file while this process holds it."""

    def __init__(self, path: Path, held: HeldLock) -> None:
        self._path = path
        self._held_descriptors = held

    @property
    def is_wanted(self) -> bool:
        """Whether another process or thread waits for it."""
        return is_locked(_waiters_file(self._path), exclusively=False)

    @property
    def is_held(self) -> bool:
        """Whether this process holds it now, and has not yielded it."""
        return self._held_descriptors.is_held

    @property
    def is_owed(self) -> bool:
        """Whether a process that yielded it waits to have it back."""
        return is_locked(_yielders_file(self._path), exclusively=False)

    def give_way(self, on_wait: Callable[[], None]) -> None:
        """Yield the lock to those who wait for it, then reacquire it; if `on_wait` raises, it stays with them."""
        with contextlib.ExitStack() as stack:
            if owed := try_lock(_yielders_file(self._path), exclusive=False):
                stack.enter_context(owed)
            self._held_descriptors.release()
            pauses = _poll_intervals()
            while self.is_wanted or (lock := _try_write_lock(self._path)) is None:
                on_wait()
                time.sleep(next(pauses))
            self._held_descriptors = lock

    def release(self) -> None:
        """Release the lock; doing it twice is harmless."""
        self._held_descriptors.release()


@contextlib.contextmanager
def write_lock(path: Path, *, wait: bool, on_wait: Callable[[], None] | None = None) -> Iterator[WriteLock]:
    """Acquire the exclusive lock on a file across processes and threads; the file is created if needed.

    While it waits, it calls `on_wait` some thirty times a second, later ten times, which may raise to give up.

    Raises:
        LockedError: another holds the lock, and `wait` is false.
        StoreError: the file cannot be opened or locked.
    """
    lock = WriteLock(path, _acquire(path, wait=wait, on_wait=on_wait))
    try:
        yield lock
    finally:
        lock.release()


def is_locked(path: Path, *, exclusively: bool = True) -> bool:
    """Whether the lock of a file is held now: the write lock, or also a shared one."""
    if not path.exists():
        return False
    lock = try_lock(path, exclusive=not exclusively)
    if lock is None:
        return True
    lock.release()
    return False


def try_lock(path: Path, *, exclusive: bool) -> HeldLock | None:
    """Acquire the lock of a file, exclusive or shared; return None if it is not available at once.

    Raises:
        OSError: the file cannot be opened or created, or its file system has no locks.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, file_mode())
    try:
        is_mine = _try_lock(descriptor, exclusive=exclusive)
    except BaseException:
        os.close(descriptor)
        raise
    if is_mine:
        return HeldLock(descriptor)
    os.close(descriptor)
    return None


def _acquire(path: Path, *, wait: bool, on_wait: Callable[[], None] | None) -> HeldLock:
    for _ in range(_BRIEF_ATTEMPTS):
        if lock := _try_write_lock(path):
            return lock
        time.sleep(_BRIEF_SECONDS)
    if not wait:
        raise LockedError("another run is writing to the index", hint="dirindex status shows which; or use --wait")
    with contextlib.ExitStack() as stack:
        wanting: HeldLock | None = None
        pauses = _poll_intervals()
        while (lock := _try_write_lock(path)) is None:
            # Not at once, since `is_wanted` of another process may hold it for a moment.
            if wanting is None and (wanting := try_lock(_waiters_file(path), exclusive=False)):
                stack.enter_context(wanting)
            if on_wait is not None:
                on_wait()
            time.sleep(next(pauses))
    return lock


def _poll_intervals() -> Iterator[float]:
    """Yield the seconds to wait between attempts."""
    return chain(repeat(_POLL_SECONDS, _EARLY_POLLS), repeat(_POLL_SECONDS_LATER))


def _waiters_file(path: Path) -> Path:
    """Return the file that is locked (shared) by those who wait for the write lock of a file."""
    return path.with_name(path.name + "-wanted")


def _yielders_file(path: Path) -> Path:
    """Return the file that is locked (shared) by those who yielded the write lock of a file."""
    return path.with_name(path.name + "-owed")


def _try_write_lock(path: Path) -> HeldLock | None:
    try:
        return try_lock(path, exclusive=True)
    except OSError as error:
        raise StoreError(
            f"cannot lock '{path}': {error.strerror or error}", hint="choose another place with --data-dir"
        ) from error


if sys.platform == "win32":

    def _try_lock(descriptor: int, *, exclusive: bool) -> bool:
        kind = portalocker.LockFlags.EXCLUSIVE if exclusive else portalocker.LockFlags.SHARED
        try:
            portalocker.lock(descriptor, kind | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.AlreadyLocked:
            return False
        except portalocker.LockException as error:
            raise OSError(str(error)) from error
        return True

else:

    def _try_lock(descriptor: int, *, exclusive: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _leave_locks_to_parent() -> None:
        # A forked child shares the descriptors: if it outlived a killed parent, it would keep its locks.
        for descriptor in _held_descriptors:
            os.close(descriptor)
        _held_descriptors.clear()

    os.register_at_fork(after_in_child=_leave_locks_to_parent)
