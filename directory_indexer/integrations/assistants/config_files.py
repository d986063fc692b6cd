"""Configuration files of assistants, read defensively and written atomically.

A symbolic link is followed if its target is below an allowed directory; the target is replaced and the link stays. Mode
and owner are kept. A file that changed since it was read is not written.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from directory_indexer.core.kept_files import sync_path
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import lies_in
from directory_indexer.core.safe_open import open_file
from directory_indexer.integrations.assistants.entries import EditRefusedError

with lazily:
    import tempfile

_MAX_BYTES: Final = 32 * 1024 * 1024
"""Claude Code keeps its state beside its servers, which grows to several megabytes."""

_NEW_FILE_MODE: Final = 0o600
_DRAFT: Final = ".dirindex-"


class ConfigFile(NamedTuple):
    """A file as it was read; a missing one has no stamp and no text. `target` is its resolved path."""

    path: str
    target: str
    text: str = ""
    stamp: tuple[int, ...] | None = None
    mode: int = _NEW_FILE_MODE

    @property
    def exists(self) -> bool:
        """Whether the file exists."""
        return self.stamp is not None


def read_file(path: str, allowed: Sequence[str]) -> ConfigFile:
    """Read a file that may be missing.

    Raises:
        EditRefusedError: it is no text file of the user's below one of the directories in `allowed`.
    """
    target = os.path.realpath(path)
    if not any(lies_in(target, directory) for directory in allowed):
        raise EditRefusedError(f"it leads to '{target}', outside your home directory")
    try:
        descriptor = open_file(target)
    except FileNotFoundError:
        return ConfigFile(path, target)
    except OSError as error:
        raise EditRefusedError(f"it cannot be read: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        _require_plain(status)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(_MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > _MAX_BYTES:
        raise EditRefusedError(f"it is larger than {_MAX_BYTES // 1024 // 1024} MB")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EditRefusedError(f"byte {error.start} is not UTF-8") from None
    return ConfigFile(path, target, text, _stamp(status), stat.S_IMODE(status.st_mode))


def missing_directories(file: ConfigFile) -> list[str]:
    """Return the directories that have to be created for a file, innermost first."""
    missing = []
    directory = os.path.dirname(file.target)
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    return missing


def write_file(file: ConfigFile, text: str) -> None:
    """Replace the content of a file, and create its directories.

    Raises:
        EditRefusedError: it cannot be written, or changed since it was read.
    """
    try:
        for directory in reversed(missing_directories(file)):
            os.mkdir(directory, 0o700)
        _replace(file, text)
    except OSError as error:
        raise EditRefusedError(f"it cannot be written: {error.strerror}") from error


def remove_file(file: ConfigFile, directories: Sequence[str]) -> None:
    """Remove a file, and those of the directories that become empty.

    Raises:
        EditRefusedError: it cannot be removed, or changed since it was read.
    """
    try:
        _require_unchanged(file)
        os.unlink(file.target)
    except OSError as error:
        raise EditRefusedError(f"it cannot be removed: {error.strerror}") from error
    around = (directory for directory in directories if lies_in(file.target, os.path.realpath(directory)))
    for directory in sorted(around, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(directory)


def _require_plain(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise EditRefusedError("it is not a regular file")
    if status.st_nlink > 1:
        raise EditRefusedError("it has hard links, which replacing it would break")
    if sys.platform != "win32" and os.geteuid() not in {0, status.st_uid}:
        raise EditRefusedError("it belongs to another user")


def _replace(file: ConfigFile, text: str) -> None:
    directory = os.path.dirname(file.target)
    number, draft = tempfile.mkstemp(prefix=_DRAFT, dir=directory)
    try:
        with os.fdopen(number, "wb") as draft_file:
            draft_file.write(text.encode("utf-8"))
            _copy_mode_and_owner(file, number)
            draft_file.flush()
            os.fsync(number)
        _require_unchanged(file)
        os.replace(draft, file.target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    sync_path(directory)


def _copy_mode_and_owner(file: ConfigFile, descriptor: int) -> None:
    if sys.platform == "win32":
        return
    os.fchmod(descriptor, file.mode)
    like = os.stat(file.target if file.exists else os.path.dirname(file.target))
    own = os.fstat(descriptor)
    is_of_others = (like.st_uid, like.st_gid) != (own.st_uid, own.st_gid) if file.exists else like.st_uid != own.st_uid
    if is_of_others and (file.exists or os.geteuid() == 0):  # `sudo` in somebody's home directory
        os.fchown(descriptor, like.st_uid, like.st_gid)


def _require_unchanged(file: ConfigFile) -> None:
    try:
        now = _stamp(os.lstat(file.target))
    except FileNotFoundError:
        now = None
    if now != file.stamp:
        raise EditRefusedError("another program has just changed it; try again")


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
