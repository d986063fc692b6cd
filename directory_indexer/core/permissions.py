"""Permissions of kept files: private to their owner, or shared with the group if the operator allows that.

Like the umask, this applies to the whole process, and is decided before anything is opened.
"""

from __future__ import annotations

import os
import stat
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
