"""Files that are kept: their permissions, and writes that survive a crash.

They are private to their owner, or shared with the group if the operator allows that. Like the umask, this applies to
the whole process, and is decided before anything is opened. A write is flushed to the disk, or replaces a file as a
whole.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Final, NamedTuple

_GROUP: Final = 0o070
_OTHERS: Final = 0o007


class _Modes(NamedTuple):
    file: int
    directory: int


_PRIVATE: Final = _Modes(0o600, 0o700)
_SHARED: Final = _Modes(0o660, 0o770)


class _Mode:
    """The decision of this process."""

    modes = _PRIVATE


def keep_private() -> None:
    """Make files written from now on private to the user."""
    _Mode.modes = _PRIVATE
    os.umask(_GROUP | _OTHERS)


def share_with_group() -> None:
    """Make files written from now on readable and writable for the group, and trust those of its members.

    A container may run as a different user each time, and share only the group with the previous one.
    """
    if os.name == "posix":
        _Mode.modes = _SHARED
        os.umask(_OTHERS)


def file_mode() -> int:
    """Return the mode of a new file."""
    return _Mode.modes.file


def directory_mode() -> int:
    """Return the mode of a new directory."""
    return _Mode.modes.directory


def apply_mode_of_new_files(path: Path) -> None:
    """Set the mode of a file or directory to that of a new one, unless another member of the group owns it.

    The target of another member's link keeps its mode as well: it may be a private file of ours.
    """
    link = path.lstat()
    if stat.S_ISLNK(link.st_mode) and link.st_uid not in {os.geteuid(), 0}:
        return
    status = path.stat()
    mode = directory_mode() if stat.S_ISDIR(status.st_mode) else file_mode()
    expected = stat.S_IMODE(status.st_mode) & ~0o777 | mode  # a directory may have its setgid bit
    if stat.S_IMODE(status.st_mode) != expected and not (_is_shared() and status.st_uid != os.geteuid()):
        path.chmod(expected)


def is_accessible_to_others(status: os.stat_result) -> bool:
    """Whether anyone who should not can read or write a file."""
    return bool(status.st_mode & _forbidden_mode_bits(status, group_may=_is_shared()))


def others_can_write(status: os.stat_result, *, group_may: bool) -> bool:
    """Whether anyone who should not can write to a file; with `group_may`, members of our groups may."""
    return bool(status.st_mode & 0o222 & _forbidden_mode_bits(status, group_may=group_may))


def is_trusted(status: os.stat_result) -> bool:
    """Whether a file comes from us, from the system, or from a member of the sharing group."""
    if status.st_uid in {os.geteuid(), 0}:
        return True
    return _is_shared() and _is_of_our_group(status) and not others_can_write(status, group_may=True)


def is_secret_readable_by_others(status: os.stat_result) -> bool:
    """Whether others can read a file that holds a secret.

    A file of another user can be ours by its group, such as the secrets of a container: then the group may read it. An
    owner can restrict a file, except one that is mounted into a container that runs as root.
    """
    is_mounted = os.geteuid() == 0 and not status.st_mode & 0o222
    is_given = _is_of_our_group(status) and (status.st_uid != os.geteuid() or is_mounted)
    return bool(status.st_mode & (_GROUP & ~stat.S_IRGRP | _OTHERS if is_given else _GROUP | _OTHERS))


def _forbidden_mode_bits(status: os.stat_result, *, group_may: bool) -> int:
    return _OTHERS if group_may and _is_of_our_group(status) else _GROUP | _OTHERS


def _is_shared() -> bool:
    return _Mode.modes is _SHARED


def _is_of_our_group(status: os.stat_result) -> bool:
    return status.st_gid in {os.getegid(), *os.getgroups()}


_NEW_FILE_FLAGS: Final = (
    os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)

_DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_disk_full(error: OSError) -> bool:
    """Whether a write failed because the disk, or the quota of this user, is full."""
    return error.errno in _DISK_FULL


def sync_path(path: str | Path) -> None:
    """Flush a file, or the names in a directory, to the disk; Windows cannot open directories, and need not."""
    if sys.platform == "win32" and os.path.isdir(path):
        return
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_new_file(path: Path) -> int:
    """Create a private file for writing, which must not exist."""
    return os.open(path, _NEW_FILE_FLAGS, file_mode())


def write_durably(descriptor: int, content: bytes) -> None:
    """Write a file, flush it to the disk, and close it."""
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Write a private file in place of another one, which may be a hard link to any file of the user's."""
    draft = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    draft.unlink(missing_ok=True)
    try:
        with open(create_new_file(draft), "wb") as file:
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
