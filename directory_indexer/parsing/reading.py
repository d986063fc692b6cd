"""Reading of a file in one consistent state, whatever happened to it since the walk.

Only regular files are read, and nothing behind a link: the file is opened without following links anywhere in its path
and without blocking on a pipe, and its status is checked before and after reading.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO, NamedTuple

from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage, source_file_of_status
from directory_indexer.core.paths import exact_text
from directory_indexer.core.safe_open import Opener, open_file
from directory_indexer.formats.document import Metadata

_MAX_ATTEMPTS = 3
_SKIPPED_ERRORS = {
    errno.ELOOP: SkipReason.SYMLINK,
    errno.EMLINK: SkipReason.SYMLINK,  # on the BSDs
    errno.ENXIO: SkipReason.NOT_REGULAR,  # a socket
    errno.EOPNOTSUPP: SkipReason.NOT_REGULAR,  # a socket on macOS
}


class LargeFile(NamedTuple):
    """A file that is read in pieces, and its stamp when it was opened, taken after `seen_ns`."""

    source: SourceFile
    file: BinaryIO
    seen_ns: int
    status: os.stat_result

    @property
    def is_other(self) -> bool:
        """Whether the file has changed since it was opened."""
        return _stamp_of_status(os.fstat(self.file.fileno())) != _stamp_of_status(self.status)


class FileContent(NamedTuple):
    """The bytes of a file and the stamp that they were read under, taken after `seen_ns`.

    `inherited` is the metadata of the message that contained it, if any.
    """

    source: SourceFile
    content: bytes
    seen_ns: int
    inherited: Metadata = Metadata()


def read(
    source: SourceFile, *, max_file_size: int, follow_symlinks: bool = False, opener: Opener = open_file
) -> FileContent | SkippedFile | FileFailure:
    """Read a file from a walk, or return why it no longer is what it was."""
    try:
        for _ in range(_MAX_ATTEMPTS):
            content = _read_once(source, max_file_size, partial(opener, follow_links=follow_symlinks))
            if content is not None:
                return content
    except FileNotFoundError:
        return FileFailure(source.path, Stage.READ, "vanished")
    except OSError as error:
        reason = _SKIPPED_ERRORS.get(error.errno or 0)
        if reason and (reason is not SkipReason.SYMLINK or error.filename in (None, exact_text(source.path))):
            return SkippedFile(source.path, reason, source=source)
        return FileFailure(source.path, Stage.READ, _describe_os_error(error))
    return FileFailure(source.path, Stage.READ, "changes while it is read")


@contextlib.contextmanager
def open_large(source: SourceFile, *, follow_symlinks: bool = False) -> Iterator[LargeFile]:
    """Open a file that is too large to be read at once.

    Raises:
        OSError: it cannot be opened, or is no regular file any more.
    """
    descriptor = open_file(exact_text(source.path), follow_links=follow_symlinks)
    with open(descriptor, "rb") as file:
        seen_ns, status = time.time_ns(), os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file any more")
        yield LargeFile(source_file_of_status(source.path, status, has_inode=source.inode != 0), file, seen_ns, status)


def _describe_os_error(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "a directory on its path is a symbolic link now"
    return (error.strerror or type(error).__name__).lower()


def _read_once(
    source: SourceFile, max_file_size: int, opened: Callable[[str], int]
) -> FileContent | SkippedFile | None:
    descriptor = opened(exact_text(source.path))
    try:
        seen_ns = time.time_ns()
        before = os.fstat(descriptor)
        # If the walk took no inode, the file system has no stable ones.
        now = source_file_of_status(source.path, before, has_inode=source.inode != 0)
        if not stat.S_ISREG(before.st_mode):
            return SkippedFile(now.path, SkipReason.NOT_REGULAR, source=now, seen_ns=seen_ns)
        if now.size > max_file_size:
            return SkippedFile(now.path, SkipReason.TOO_LARGE, source=now, seen_ns=seen_ns)
        content = _read_bytes(descriptor, now.size)
        is_whole = len(content) == now.size and _stamp_of_status(os.fstat(descriptor)) == _stamp_of_status(before)
    finally:
        os.close(descriptor)
    return FileContent(now, content, seen_ns) if is_whole else None


def _read_bytes(descriptor: int, size: int) -> bytes:
    """Read one byte more than expected, to notice a file that grew."""
    with open(descriptor, "rb", buffering=0, closefd=False) as file:
        content = file.read(size + 1) or b""
        while len(content) <= size and (rest := file.read(size + 1 - len(content))):
            content += rest
    return content


def _stamp_of_status(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
