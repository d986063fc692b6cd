"""Safe opening of untrusted files: no symbolic link is followed, nothing blocks, and sizes are limited.

A path that was resolved once names a file only while none of its directories is replaced by a link. So each component
is opened relative to the descriptor of the previous one, and links are refused. Windows cannot open a file relative to
a directory; there the final path of the opened file is compared.

Paths from untrusted sources are opened at their resolved, checked location; only paths from the user or the system are
opened through links.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, Protocol, Self

from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import lies_in

with lazily:
    import ctypes
    import msvcrt


CAN_OPEN_BELOW: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether this system opens files relative to a directory descriptor, and can refuse links."""

_FOLLOWING_FLAGS: Final = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
)
_FILE_FLAGS: Final = _FOLLOWING_FLAGS | getattr(os, "O_NOFOLLOW", 0)
_NEW_FILE_FLAGS: Final = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))
)
_DIRECTORY_FLAGS: Final = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW"))
# Traversing a directory takes less permission than listing it.
_TRAVERSAL_FLAGS: Final = _DIRECTORY_FLAGS | next(
    (getattr(os, name) for name in ("O_PATH", "O_SEARCH", "O_EXEC") if hasattr(os, name)), 0
)
_MAX_OPEN: Final = 24
"""Maximum open directories of a descent; processes may be limited to 64 files."""

_MAX_PATH_CHARS: Final = 4095
"""Deeper files could only be opened relative to descriptors, and by no other program given their path."""


class Opener(Protocol):
    """Opens files as `open_file` does."""

    def __call__(self, path: str, /, *, follow_links: bool = False) -> int:
        """Open a file for reading."""


def open_file(path: str, /, *, follow_links: bool = False) -> int:
    """Open a file for reading without blocking on a pipe, by an absolute path without links unless they are followed.

    Raises:
        OSError: it does not exist, or a component is a symbolic link that is not to be followed (ELOOP).
    """
    if follow_links:
        return os.open(path, _FOLLOWING_FLAGS)
    if not CAN_OPEN_BELOW:
        return _require_final_path(os.open(path, _FILE_FLAGS), path)
    directory, name = os.path.split(path)
    parent = _open_through_directories(directory)
    try:
        return _open_below(parent, name, _FILE_FLAGS, path)
    finally:
        os.close(parent)


def open_entry(path: str, directory: int | str) -> int:
    """Open a file of a directory for reading without blocking on a pipe, relative to its descriptor if there is one.

    Raises:
        OSError: it does not exist, or is a symbolic link (ELOOP).
    """
    if isinstance(directory, str):
        return open_file(path)
    return _open_below(directory, os.path.basename(path), _FILE_FLAGS, path)


def open_directory(path: str) -> int:
    """Open a directory for listing, by an absolute path without links.

    Raises:
        OSError: it does not exist, cannot be listed, or a component is a symbolic link (ELOOP).
    """
    directory, name = os.path.split(path)
    if not name:
        return os.open(path, _DIRECTORY_FLAGS)
    parent = _open_through_directories(directory)
    try:
        return _open_below(parent, name, _DIRECTORY_FLAGS, path)
    finally:
        os.close(parent)


def create_file(path: str, mode: int) -> int:
    """Create a new file for writing, by an absolute path without links.

    Raises:
        OSError: the path exists, or a component is a symbolic link (ELOOP).
    """
    if not CAN_OPEN_BELOW:
        return os.open(path, _NEW_FILE_FLAGS, mode)
    directory, name = os.path.split(path)
    parent = _open_through_directories(directory)
    try:
        return os.open(name, _NEW_FILE_FLAGS, mode, dir_fd=parent)
    finally:
        os.close(parent)


def make_directory(path: str, mode: int) -> None:
    """Create a directory unless it exists, by an absolute path without links.

    Raises:
        OSError: something else exists there, or a component is a symbolic link (ELOOP).
    """
    if not CAN_OPEN_BELOW:
        os.makedirs(path, mode, exist_ok=True)
        return
    directory, name = os.path.split(path)
    parent = _open_through_directories(directory)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=parent)
        os.close(_open_below(parent, name, _TRAVERSAL_FLAGS, path))
    finally:
        os.close(parent)


class DirectoryDescent:
    """The open directories from a root down to the current one, each opened relative to its parent."""

    _flags: ClassVar = _DIRECTORY_FLAGS

    def __init__(self, root: str) -> None:
        """Open the root.

        Raises:
            OSError: it does not exist, cannot be listed, or a component of its path is a symbolic link (ELOOP).
        """
        self._open = [(root, open_directory(root))]

    def enter(self, directory: str) -> int:
        """Return the descriptor of the root or of a directory below it, which stays open until another one is entered.

        Raises:
            OSError: it does not exist, cannot be listed, or is or lies behind a symbolic link (ELOOP).
        """
        if len(directory) > _MAX_PATH_CHARS:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), directory)
        while not lies_in(directory, self._open[-1][0]):
            os.close(self._open.pop()[1])
        path, descriptor = self._open[-1]
        for name in directory[len(path) :].split(os.sep):
            if name:
                path = os.path.join(path, name)
                descriptor = _open_below(descriptor, name, self._flags, path)
                self._push(path, descriptor)
        return descriptor

    def close(self) -> None:
        """Close all directories."""
        while self._open:
            os.close(self._open.pop()[1])

    def _push(self, path: str, descriptor: int) -> None:
        self._open.append((path, descriptor))
        if len(self._open) > _MAX_OPEN:
            os.close(self._open.pop(1)[1])


class CachedPathOpener(DirectoryDescent):
    """The open directories down to the last opened file, so that its neighbours are opened by name."""

    _flags: ClassVar = _TRAVERSAL_FLAGS

    def __init__(self) -> None:
        """Begin at the root of the file system, with nothing open."""
        self._open = []

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the directories."""
        self.close()

    def open_file(self, path: str, /, *, follow_links: bool = False) -> int:
        """Open a file as `open_file` does.

        Raises:
            OSError: it does not exist, or a component is a symbolic link that is not to be followed (ELOOP).
        """
        if follow_links or not CAN_OPEN_BELOW:
            return open_file(path, follow_links=follow_links)
        if not self._open:
            self._open.append((os.sep, os.open(os.sep, self._flags)))
        return open_entry(path, self.enter(os.path.dirname(path)))


def _open_through_directories(path: str) -> int:
    """Open a directory for traversal, component by component."""
    descriptor = os.open(os.sep, _TRAVERSAL_FLAGS)
    current = os.sep
    for name in path.split(os.sep):
        if name:
            current = os.path.join(current, name)
            try:
                inner = _open_below(descriptor, name, _TRAVERSAL_FLAGS, current)
            finally:
                os.close(descriptor)
            descriptor = inner
    return descriptor


def _open_below(directory: int, name: str, flags: int, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=directory)
    except OSError as error:
        # The system reports a link as ENOTDIR, too.
        if error.errno in {errno.ENOTDIR, errno.ELOOP, errno.EMLINK} and _is_link(name, directory):
            raise OSError(errno.ELOOP, "a symbolic link stands here now", path) from error
        raise


def _is_link(name: str, directory: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _require_final_path(descriptor: int, path: str) -> int:
    """Return a descriptor if the opened file is at its path, without links."""
    try:
        is_there = os.path.normcase(_final_path(descriptor)) == os.path.normcase(path)
    except BaseException:
        os.close(descriptor)
        raise
    if not is_there:
        os.close(descriptor)
        raise OSError(errno.ELOOP, "a symbolic link stands here now", path)
    return descriptor


if sys.platform == "win32":

    def _final_path(descriptor: int) -> str:
        buffer = ctypes.create_unicode_buffer(32_768)
        handle = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
        length = ctypes.windll.kernel32.GetFinalPathNameByHandleW(handle, buffer, len(buffer), 0)
        if not length:
            raise ctypes.WinError()
        if length >= len(buffer):  # the required length; nothing was written
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        path = buffer.value.removeprefix("\\\\?\\")
        return "\\\\" + path.removeprefix("UNC\\") if path.startswith("UNC\\") else path

else:

    def _final_path(descriptor: int) -> str:
        return os.readlink(f"/proc/self/fd/{descriptor}")


MAX_FILE_BYTES: Final = 1024 * 1024

_READ_BYTES: Final = 1 << 16


def path_exists(path: str | Path) -> bool:
    """Whether a file exists, as far as permissions allow: a home directory may be inaccessible."""
    try:
        os.stat(path)
    except (OSError, ValueError):
        return False
    return True


def read_small_file(
    path: str | Path, open_it: Callable[[str], int] | None = None, *, most_bytes: int = MAX_FILE_BYTES
) -> bytes:
    """Read an untrusted file of rules or settings without ever blocking.

    `open_it` opens it without following a link; without it, links are followed.

    Raises:
        OSError: it cannot be read, or is no regular file of a reasonable size.
    """
    path = os.fspath(path)
    # Checked before it is opened, too: opening a device may have side effects.
    _require_regular(path, os.stat(path, follow_symlinks=open_it is None).st_mode)
    descriptor = (open_it or partial(open_file, follow_links=True))(path)
    content = b""
    try:
        _require_regular(path, os.fstat(descriptor).st_mode)
        while len(content) <= most_bytes and (further := os.read(descriptor, _READ_BYTES)):
            content += further
    finally:
        os.close(descriptor)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes} bytes", path)
    return content


def _require_regular(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a directory", path)
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "a symbolic link, which git does not follow either", path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
