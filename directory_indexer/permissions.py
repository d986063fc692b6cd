"""Who may read and write what is kept: its owner alone, or its group as well, where the operator allows that.

Like the umask, this holds for the whole process, and it is decided before anything is opened.
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


class _Keeping:
    """What this process has decided."""

    modes = _PRIVATE


def keep_private() -> None:
    """Let nobody but the user read what is written from now on."""
    _Keeping.modes = _PRIVATE
    os.umask(_GROUP | _OTHERS)


def share_with_group() -> None:
    """Let the group of what is written read and write it, too, and trust what its members have written.

    A container may run as a different user each time, and share only the group with the one before.
    """
    if os.name == "posix":
        _Keeping.modes = _SHARED
        os.umask(_OTHERS)


def file_mode() -> int:
    """Return the mode of a new file."""
    return _Keeping.modes.file


def directory_mode() -> int:
    """Return the mode of a new directory."""
    return _Keeping.modes.directory


def confine(path: Path) -> None:
    """Return a file or directory the mode that a new one would have, unless another member of the group owns it.

    What a link of theirs names keeps its mode as well: it may be a private file of ours.
    """
    link = path.lstat()
    if stat.S_ISLNK(link.st_mode) and link.st_uid not in {os.geteuid(), 0}:
        return
    status = path.stat()
    mode = directory_mode() if stat.S_ISDIR(status.st_mode) else file_mode()
    wanted = stat.S_IMODE(status.st_mode) & ~0o777 | mode  # a directory may hand its group on
    if stat.S_IMODE(status.st_mode) != wanted and not (_is_shared() and status.st_uid != os.geteuid()):
        path.chmod(wanted)


def is_open(status: os.stat_result) -> bool:
    """Return whether somebody who should not can read or write what is kept."""
    return bool(status.st_mode & _closed_to(status, group_may=_is_shared()))


def others_can_write(status: os.stat_result, *, group_may: bool) -> bool:
    """Return whether somebody who should not can write to what is kept; with `group_may`, members of our groups may."""
    return bool(status.st_mode & 0o222 & _closed_to(status, group_may=group_may))


def is_trusted(status: os.stat_result) -> bool:
    """Return whether what is kept comes from us, from the system, or from a member of the group that shares it."""
    if status.st_uid in {os.geteuid(), 0}:
        return True
    return _is_shared() and _is_of_our_group(status) and not others_can_write(status, group_may=True)


def secret_is_open(status: os.stat_result) -> bool:
    """Return whether others can read a file that holds a secret.

    A file of another user can be ours by its group, as the secrets that a container is given are: then the group may
    read it. An owner can close a file, except one that is mounted for a container that runs as root.
    """
    is_mounted = os.geteuid() == 0 and not status.st_mode & 0o222
    is_given = _is_of_our_group(status) and (status.st_uid != os.geteuid() or is_mounted)
    return bool(status.st_mode & (_GROUP & ~stat.S_IRGRP | _OTHERS if is_given else _GROUP | _OTHERS))


def _closed_to(status: os.stat_result, *, group_may: bool) -> int:
    return _OTHERS if group_may and _is_of_our_group(status) else _GROUP | _OTHERS


def _is_shared() -> bool:
    return _Keeping.modes is _SHARED


def _is_of_our_group(status: os.stat_result) -> bool:
    return status.st_gid in {os.getegid(), *os.getgroups()}
