"""Records of a file: the stamp that detects changes, or the reason why it is skipped or failed."""

import os
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.ids import ContentHash
from directory_indexer.paths import FilePath, os_path
from directory_indexer.scans import Scan

DIRECTORY: Final = "directory"
"""The kind of a hit that is a directory."""


class SkipReason(StrEnum):
    """Why a file is not indexed although nothing failed."""

    BINARY = "binary"
    BROKEN_LINK = "broken link"
    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    NO_TEXT = "no text"
    NOT_REGULAR = "not a regular file"
    SECRET = "secret"  # noqa: S105 - the name of a reason, not a password
    SYMLINK = "symbolic link"
    TOO_LARGE = "too large"


class Stage(StrEnum):
    """The stage of a run at which a file failed."""

    WALK = "walk"
    READ = "read"
    EXTRACT = "extract"
    EMBED = "embed"


Stamp: TypeAlias = tuple[FilePath, int, int, int, int]
"""The values of a `SourceFile`."""


_FINE_NS = 20_000_000


_COARSE_NS = 2_000_000_000


_SECOND_NS = 1_000_000_000


_LARGEST_INTEGER = 2**63 - 1


class SourceFile(NamedTuple):
    """A regular file that the walk found and no rule excludes, with everything that changes when the file does.

    `changed_ns` is the time of the last change of content or status (POSIX: ctime), which programs cannot set, and
    `inode` detects exchanged files; both are 0 if the system has no stable ones. A tuple, because a walk makes one for
    each of tens of thousands of files.
    """

    path: FilePath
    size: int
    mtime_ns: int
    changed_ns: int = 0
    inode: int = 0

    def is_settled(self, seen_ns: int) -> bool:
        """Whether every change of the file after `seen_ns`, when the stamp was taken, gives it another stamp.

        A file that was changed just before may change again within the same tick of its file system's clock: a few
        milliseconds if times have fractions of a second, or up to two seconds (FAT).
        """
        changed_ns = self.changed_ns or self.mtime_ns
        return changed_ns + (_FINE_NS if changed_ns % _SECOND_NS else _COARSE_NS) < seen_ns


def stamped(path: FilePath, status: os.stat_result, *, has_inode: bool = True) -> SourceFile:
    """Return the stamp of a file; without `has_inode` its file system has no stable inode numbers."""
    if os.name != "posix":  # ctime is the creation time there, and a walk gets no inode
        return SourceFile(path, status.st_size, storable(status.st_mtime_ns))
    inode = storable(status.st_ino) if has_inode else 0
    return SourceFile(path, status.st_size, storable(status.st_mtime_ns), storable(status.st_ctime_ns), inode)


def storable(number: int) -> int:
    """Clamp a number of a file system to the range of SQLite: times may be in any year."""
    return max(-_LARGEST_INTEGER, min(number, _LARGEST_INTEGER))


def source_file(path: FilePath) -> SourceFile:
    """Return the stamp of a file outside a walk.

    Raises:
        OSError: the file does not exist or its directory cannot be read.
    """
    return stamped(path, os.stat(os_path(path)))


class FileFailure(NamedTuple):
    """A file or directory that could not be processed; the next run retries it.

    With `source`, taken at `seen_ns`, and `hash`, the content of the file is the cause, damaged or such that it crashed
    a parser: it is not parsed again until the file or the parser changes.
    """

    path: FilePath
    stage: Stage
    message: str
    source: SourceFile | None = None
    hash: ContentHash | None = None
    seen_ns: int = 0


class SkippedFile(NamedTuple):
    """A file that was skipped, with the reason and, where it helps, the rule or number behind it.

    `source` is its stamp, taken at `seen_ns`, if it could be examined. `scans` are its scanned pages: it may have text
    after OCR.
    """

    path: FilePath
    reason: SkipReason
    detail: str = ""
    source: SourceFile | None = None
    seen_ns: int = 0
    scans: tuple[Scan, ...] = ()
