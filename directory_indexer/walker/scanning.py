"""Scanning of a directory: names, kinds and stamps, as plain values that can be compared at once."""

from __future__ import annotations

import marshal
import os
from collections.abc import Container
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.ids import content_hash

EntryStamp: TypeAlias = tuple[str, int, int, int, int, int]
"""Name of an entry that is no directory, mode, size, modification time and change time in nanoseconds, and inode; the
last two are 0 if the file system has no stable ones.
"""

_HAS_CHANGE_TIMES: Final = os.name == "posix"

_MARSHAL_FORMAT: Final = 2
"""The last format in which equal values give equal bytes: later ones depend on object identity."""


class BrokenEntry(NamedTuple):
    """The error of an entry that could not be examined."""

    error: OSError
    is_link: bool


class Scan:
    """The entries of a directory, in the order of the file system.

    For directories it records whether they are links. `links` are all links, which only a walk that follows them
    records. With `failure` the scan is incomplete.
    """

    def __init__(self) -> None:
        self.stamps: list[EntryStamp] = []
        self.directories: dict[str, bool] = {}
        self.broken: dict[str, BrokenEntry] = {}
        self.links: set[str] = set()
        self.failure: OSError | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing failed."""
        return not self.broken and self.failure is None

    def names(self) -> list[str]:
        """Return the names of all entries."""
        return [*self.directories, *self.broken, *[stamp[0] for stamp in self.stamps]]

    def leave_out(self, names: Container[str]) -> None:
        """Remove entries."""
        self.stamps = [stamp for stamp in self.stamps if stamp[0] not in names]
        self.directories = {name: is_link for name, is_link in self.directories.items() if name not in names}

    def digest(self, key: bytes) -> bytes:
        """Hash all entries together with a key.

        The order counts, too: it is stable while nothing changes, and sorting takes a tenth of the time of a walk.
        """
        return content_hash(key + marshal.dumps((self.stamps, list(self.directories)), _MARSHAL_FORMAT))


def scan(handle: int | str, *, follow_links: bool, has_inodes: bool) -> Scan:
    """Read a directory, as far as possible; without `has_inodes` inode numbers of its file system are not stable.

    A no-op run spends its time in this loop. It keeps no `DirEntry`, which takes a kilobyte.
    """
    result = Scan()
    add_stamp, directories, has_times = result.stamps.append, result.directories, _HAS_CHANGE_TIMES
    has_inodes = has_inodes and has_times
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                try:
                    if follow_links and entry.is_symlink():
                        result.links.add(entry.name)
                    if entry.is_dir(follow_symlinks=follow_links):
                        directories[entry.name] = entry.name in result.links
                    else:
                        status = entry.stat(follow_symlinks=follow_links)
                        changed_ns = status.st_ctime_ns if has_times else 0
                        inode = status.st_ino if has_inodes else 0
                        add_stamp((entry.name, status.st_mode, status.st_size, status.st_mtime_ns, changed_ns, inode))
                except OSError as error:
                    result.broken[entry.name] = BrokenEntry(error, is_link=entry.name in result.links)
    except OSError as error:
        result.failure = error
    return result
