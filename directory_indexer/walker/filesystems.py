"""Which file system a directory lies on, told by what stays the same when it is mounted again.

Where another file system is mounted than before, a file that is not there has not been deleted. The number of a device
tells nothing: two sticks may have the same one, and one stick has another when it is plugged in again. Where nothing
else is known, all file systems of a kind have one name.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from functools import cached_property
from typing import Final, NamedTuple

from directory_indexer.paths import lies_in

_MOUNTS: Final = "/proc/self/mountinfo"
_UUIDS: Final = "/dev/disk/by-uuid"
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")
_NAMED_BY_SOURCE: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "glusterfs", "lustre", "afs", "beegfs", "vboxsf"}
)
"""Kinds of file systems whose source names them, as `server:/export` does, and that have no number of their own."""

_NUMBERED_ANEW: Final = frozenset({"vfat", "msdos", "exfat", "fuse", "fuseblk", "9p", "vboxsf", "drvfs"})
"""Kinds of file systems that make up the numbers of files when they are asked for them."""


_UNKNOWN_KIND: Final = "unknown"


class FileSystem(NamedTuple):
    """What tells a file system from others; without `has_inodes` the numbers of its files do not last."""

    name: str
    has_inodes: bool = True


class _Mount(NamedTuple):
    point: str
    kind: str
    source: str


class FileSystems:
    """The file systems that a walk meets, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[int, FileSystem] = {}

    def of(self, directory: int | str, *, path: str, device: int) -> FileSystem:
        """Look up the file system of a directory: its descriptor where there is one, its path and its device number."""
        if device not in self._known:
            self._known[device] = self._found(directory, path, device)
        return self._known[device]

    def _found(self, directory: int | str, path: str, device: int) -> FileSystem:
        mount = self._mount_of(path, device)
        uuid = self._uuids.get(device)
        kind = mount.kind if mount else ""
        name = f"{kind} {uuid}" if uuid else _name(directory, mount, device)
        return FileSystem(name, kind.partition(".")[0] not in _NUMBERED_ANEW)

    def _mount_of(self, path: str, device: int) -> _Mount | None:
        if found := self._mounts.get(f"{os.major(device)}:{os.minor(device)}" if hasattr(os, "major") else ""):
            return found
        # Parts of a Btrfs have numbers that stand in no list.
        around = [one for one in self._mounts.values() if lies_in(path, one.point)]
        return max(around, key=lambda mount: len(mount.point), default=None)

    @cached_property
    def _mounts(self) -> dict[str, _Mount]:
        try:
            with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
                return dict(filter(None, map(_mount, file)))
        except OSError:  # only Linux has the list
            return {}

    @cached_property
    def _uuids(self) -> dict[int, str]:
        uuids: dict[int, str] = {}
        with contextlib.suppress(OSError), os.scandir(_UUIDS) as links:
            for link in links:
                with contextlib.suppress(OSError):
                    uuids[link.stat().st_rdev] = link.name
        return uuids


def _mount(line: str) -> tuple[str, _Mount] | None:
    before, _, after = line.partition(" - ")
    place, what = before.split(" "), after.split(" ")
    if len(place) < 5 or len(what) < 2:  # noqa: PLR2004 - as proc(5) numbers the fields
        return None
    return place[2], _Mount(_unescaped(place[4]), what[0], _unescaped(what[1]))


def _unescaped(field: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), field)


def _name(directory: int | str, mount: _Mount | None, device: int) -> str:
    if sys.platform == "win32":
        return f"volume {device:x}"  # the serial number of the volume
    if mount and mount.kind.partition(".")[0] in _NAMED_BY_SOURCE | {"fuse"}:
        return f"{mount.kind} {mount.source}"
    try:
        number = os.statvfs(directory).f_fsid
    except OSError:
        number = 0
    kind = mount.kind if mount else _UNKNOWN_KIND
    return kind if _is_of_device(number, device) else f"{kind} {number:x}"


def _is_of_device(number: int, device: int) -> bool:
    """Return whether a file system's own number is none, or made of nothing but that of its device."""
    if sys.platform == "darwin":
        return True
    major, minor = os.major(device), os.minor(device)
    encodings = {0, device, major << 8 | minor, major << 20 | minor, minor & 0xFF | major << 8 | (minor & ~0xFF) << 12}
    # Either half may be the kind of the file system, or nothing.
    return bool(encodings & {number, number & 0xFFFFFFFF}) or (number >> 32 in encodings - {0})
