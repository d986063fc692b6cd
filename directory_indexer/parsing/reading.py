"""Reads a file as it is at one moment, whatever has become of it since the walk saw it.

Nothing but a regular file is ever read: the file is opened without following a link and without waiting for a pipe,
and what was opened is looked at again before and after its bytes are taken.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from directory_indexer.records import FileFailure, SkippedFile, SkipReason, SourceFile, Stage, os_path

_TRIES = 3
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)

_SKIPPED_ERRORS = {
    errno.ELOOP: SkipReason.SYMLINK,
    errno.EMLINK: SkipReason.SYMLINK,  # what the BSDs say instead
    errno.ENXIO: SkipReason.NOT_REGULAR,  # a socket
    errno.EOPNOTSUPP: SkipReason.NOT_REGULAR,  # a socket on macOS
}


class FileContent(NamedTuple):
    """The bytes of a file and the stamp that they were read under."""

    source: SourceFile
    content: bytes


def read(
    source: SourceFile, *, max_file_size: int, follow_symlinks: bool = False
) -> FileContent | SkippedFile | FileFailure:
    """Read a file that the walk found, and say so when it is no longer what it was."""
    flags = _FLAGS if follow_symlinks else _FLAGS | _NO_FOLLOW
    try:
        for _ in range(_TRIES):
            found = _read_once(source, flags, max_file_size)
            if found is not None:
                return found
    except FileNotFoundError:
        return FileFailure(source.path, Stage.READ, "vanished")
    except OSError as error:
        if reason := _SKIPPED_ERRORS.get(error.errno or 0):
            return _skipped(source, reason)
        return FileFailure(source.path, Stage.READ, (error.strerror or type(error).__name__).lower())
    return FileFailure(source.path, Stage.READ, "changes while it is read")


def _read_once(source: SourceFile, flags: int, max_file_size: int) -> FileContent | SkippedFile | None:
    descriptor = os.open(os_path(source.path), flags)
    try:
        before = os.fstat(descriptor)
        now = SourceFile(source.path, before.st_size, before.st_mtime_ns)
        if not stat.S_ISREG(before.st_mode):
            return _skipped(now, SkipReason.NOT_REGULAR)
        if now.size > max_file_size:
            return _skipped(now, SkipReason.TOO_LARGE)
        content = _read_bytes(descriptor, now.size)
        is_whole = len(content) == now.size and _stamp(os.fstat(descriptor)) == _stamp(before)
    finally:
        os.close(descriptor)
    return FileContent(now, content) if is_whole else None


def _read_bytes(descriptor: int, size: int) -> bytes:
    """Read one byte more than there should be, to notice a file that grew."""
    with open(descriptor, "rb", buffering=0, closefd=False) as file:
        content = file.read(size + 1) or b""
        while len(content) <= size and (rest := file.read(size + 1 - len(content))):
            content += rest
    return content


def _skipped(source: SourceFile, reason: SkipReason) -> SkippedFile:
    return SkippedFile(source.path, reason, size=source.size, mtime_ns=source.mtime_ns)


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
