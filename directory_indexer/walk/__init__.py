"""Walking of directory trees: which files are below a root, and the rules that exclude the others.

Records of a walk are here: directory listings, settled directories, which are skipped while unchanged, and the policy,
which decides which files are excluded.

A file system is identified by properties that survive remounting. If another one is mounted than before, a missing file
has not been deleted. Device numbers do not identify a file system: two USB sticks can have the same one, and one stick
gets another when it is plugged in again. Without better information, all file systems of a kind have one name.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple

from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, SourceFile
from directory_indexer.core.paths import FilePath, lies_in


class IgnoredPath(NamedTuple):
    """A file or directory that a rule excludes, and the rule as the user would write it, with its source."""

    path: FilePath
    rule: str


class Listing(NamedTuple):
    """One directory of a walk; a tuple, as `SourceFile` is.

    `failures` name the directory itself if it could not be read, or entries of it: nothing at or below such a path may
    be treated as deleted. Neither may indexed text of ignored paths if `rules_are_lost`: unreadable rules might have
    re-included it. With `is_mount` another file system begins here; `file_system` names it, and that of the root. If
    the `digest` is unchanged and not empty, so is the whole listing.
    """

    directory: FilePath
    files: tuple[SourceFile, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    ignored: tuple[IgnoredPath, ...] = ()
    failures: tuple[FileFailure, ...] = ()
    rules_are_lost: bool = False
    is_mount: bool = False
    file_system: str = ""
    digest: bytes = b""


class SettledDirectory(NamedTuple):
    """A directory of a walk in which the index is up to date.

    It has `n_files` indexed files; the rest was skipped, by reason, or ignored.
    """

    digest: bytes
    n_files: int
    skipped: tuple[tuple[SkipReason, int], ...] = ()
    ignored: tuple[IgnoredPath, ...] = ()

    @property
    def n_known(self) -> int:
        """The number of files that the index knows in the directory."""
        return self.n_files + sum(count for _, count in self.skipped)


class Settled(NamedTuple):
    """The settled directories, for runs that extract files as `recipe` identifies."""

    recipe: int = 0
    directories: Mapping[FilePath, SettledDirectory] = MappingProxyType({})


class SameListing(NamedTuple):
    """A directory that is unchanged since it was settled; the other fields are as in `Listing`."""

    directory: FilePath
    settled: SettledDirectory
    is_mount: bool = False
    file_system: str = ""


class WalkPolicy(NamedTuple):
    """The exclusions of a walk; `own` are the paths of the index itself and of its configuration.

    Files whose names end in one of `streamed`, in lower case, may exceed the size limit. At or below `reserved` no
    directory may be tracked but that of the `documents` which were sent: none of those is excluded by its name.
    """

    ignore_patterns: tuple[str, ...] = ()
    respect_gitignore: bool = True
    include_hidden: bool = False
    include_secrets: bool = False
    follow_symlinks: bool = False
    max_file_size: int = 10 * 1024 * 1024
    streamed: tuple[str, ...] = ()
    own: tuple[FilePath, ...] = ()
    reserved: FilePath | None = None
    documents: FilePath | None = None
    git_history: str = ""
    """Commits of repositories to index: none, `all`, a number of the newest, or those since a day."""

    def at(self, root: FilePath) -> WalkPolicy:
        """Return the policy for one tracked directory."""
        if root != self.documents:
            return self
        return self._replace(ignore_patterns=(), respect_gitignore=False, include_hidden=True)


_MOUNTS_FILE: Final = "/proc/self/mountinfo"
_UUIDS_DIRECTORY: Final = "/dev/disk/by-uuid"
_OCTAL_ESCAPE: Final = re.compile(r"\\([0-7]{3})")
_KINDS_NAMED_BY_SOURCE: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "glusterfs", "lustre", "afs", "beegfs", "vboxsf"}
)
"""Kinds identified by their source, such as `server:/export`, because they have no id of their own."""

_KINDS_WITHOUT_STABLE_INODES: Final = frozenset({"vfat", "msdos", "exfat", "fuse", "fuseblk", "9p", "vboxsf", "drvfs"})
"""Kinds whose inode numbers are made up on each mount."""


_UNKNOWN_KIND: Final = "unknown"


class FileSystem(NamedTuple):
    """Identity of a file system; without `has_inodes` its inode numbers are not stable."""

    name: str
    has_inodes: bool = True


class _Mount(NamedTuple):
    point: str
    kind: str
    source: str


class FileSystems:
    """The file systems of a walk, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[int, FileSystem] = {}

    def of(self, directory: int | str, *, path: str, device: int) -> FileSystem:
        """Return the file system of a directory, given its descriptor or path, its path and its device number."""
        if device not in self._known:
            self._known[device] = self._identify(directory, path, device)
        return self._known[device]

    def _identify(self, directory: int | str, path: str, device: int) -> FileSystem:
        mount = self._mount_of(path, device)
        uuid = self._uuids.get(device)
        kind = mount.kind if mount else ""
        name = f"{kind} {uuid}" if uuid else _name_of_file_system(directory, mount, device)
        return FileSystem(name, kind.partition(".")[0] not in _KINDS_WITHOUT_STABLE_INODES)

    def _mount_of(self, path: str, device: int) -> _Mount | None:
        if listed := self._mounts.get(f"{os.major(device)}:{os.minor(device)}" if hasattr(os, "major") else ""):
            return listed
        # Device numbers of Btrfs subvolumes are not in the list.
        around = [candidate for candidate in self._mounts.values() if lies_in(path, candidate.point)]
        return max(around, key=lambda mount: len(mount.point), default=None)

    @cached_property
    def _mounts(self) -> dict[str, _Mount]:
        try:
            with open(_MOUNTS_FILE, encoding="utf-8", errors="surrogateescape") as file:
                return dict(filter(None, map(_parse_mount_line, file)))
        except OSError:  # the file exists on Linux only
            return {}

    @cached_property
    def _uuids(self) -> dict[int, str]:
        uuids: dict[int, str] = {}
        with contextlib.suppress(OSError), os.scandir(_UUIDS_DIRECTORY) as links:
            for link in links:
                with contextlib.suppress(OSError):
                    uuids[link.stat().st_rdev] = link.name
        return uuids


def _parse_mount_line(line: str) -> tuple[str, _Mount] | None:
    before, _, after = line.partition(" - ")
    place, what = before.split(" "), after.split(" ")
    if len(place) < 5 or len(what) < 2:  # noqa: PLR2004 - as proc(5) numbers the fields
        return None
    return place[2], _Mount(_unescape_octal(place[4]), what[0], _unescape_octal(what[1]))


def _unescape_octal(field: str) -> str:
    return _OCTAL_ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)


def _name_of_file_system(directory: int | str, mount: _Mount | None, device: int) -> str:
    if sys.platform == "win32":
        return f"volume {device:x}"  # the serial number of the volume
    if mount and mount.kind.partition(".")[0] in _KINDS_NAMED_BY_SOURCE | {"fuse"}:
        return f"{mount.kind} {mount.source}"
    try:
        number = os.statvfs(directory).f_fsid
    except OSError:
        number = 0
    kind = mount.kind if mount else _UNKNOWN_KIND
    return kind if _is_fsid_from_device(number, device) else f"{kind} {number:x}"


def _is_fsid_from_device(number: int, device: int) -> bool:
    """Whether a file system's own id is zero, or derived from its device number."""
    if sys.platform == "darwin":
        return True
    major, minor = os.major(device), os.minor(device)
    encodings = {0, device, major << 8 | minor, major << 20 | minor, minor & 0xFF | major << 8 | (minor & ~0xFF) << 12}
    # Either half may be the kind of the file system, or nothing.
    return bool(encodings & {number, number & 0xFFFFFFFF}) or (number >> 32 in encodings - {0})
