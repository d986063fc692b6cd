"""Records of a file: the stamp that detects changes, why it is skipped or failed, and its scanned pages.

Positions on a page are in ten-thousandths of its width and height, counted from the upper left corner as displayed, so
that they hold at any resolution.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Final, NamedTuple, NewType, Protocol, TypeAlias

from directory_indexer.core.ids import ContentHash
from directory_indexer.core.paths import FilePath, os_path

PageKey = NewType("PageKey", bytes)
"""The hash of everything that a page is rendered from."""

PAGE_UNITS = 10_000
"""The width and the height of a page, in the units of boxes."""


class Box(NamedTuple):
    """A rectangle on a page."""

    left: int
    top: int
    right: int
    bottom: int


def rotate_box(box: Box, degrees: int) -> Box:
    """Return a box on a page that is rotated clockwise by 0, 90, 180 or 270 degrees."""
    left, top, right, bottom = box
    match degrees % 360:
        case 90:
            return Box(PAGE_UNITS - bottom, left, PAGE_UNITS - top, right)
        case 180:
            return Box(PAGE_UNITS - right, PAGE_UNITS - bottom, PAGE_UNITS - left, PAGE_UNITS - top)
        case 270:
            return Box(top, PAGE_UNITS - right, bottom, PAGE_UNITS - left)
    return box


class Word(NamedTuple):
    """A word that was read on a page; `confidence` is that of the engine, 0 to 100.

    Engines that return only text have no boxes. Engines that answer with text alone do not say where it stands.
    """

    text: str
    confidence: int
    box: Box | None = None


class Line(NamedTuple):
    """Words beside each other; lines of one block belong together, as those of a paragraph do."""

    words: tuple[Word, ...]
    block: int = 0

    @property
    def text(self) -> str:
        """The words, separated by spaces."""
        return " ".join(word.text for word in self.words)


class Recognition(NamedTuple):
    """Text that an engine has read on a page, in reading order; `engine` is its name with version and languages.

    `turn` is the clockwise rotation in degrees that was needed; boxes are those on the original page.
    """

    engine: str
    lines: tuple[Line, ...]
    dpi: int = 0
    turn: int = 0

    @property
    def confidence(self) -> float:
        """The mean confidence of the words, weighted by length, 0 to 1; 1 for an empty page."""
        n_characters = sum(len(word.text) for line in self.lines for word in line.words)
        if not n_characters:
            return 1.0
        total = sum(word.confidence * len(word.text) for line in self.lines for word in line.words)
        return round(total / n_characters / 100, 3)


class PageProblem(NamedTuple):
    """The reason why no engine could read a page. It is retried unless it is `final`."""

    message: str
    is_final: bool = False


class Scan(NamedTuple):
    """A scanned page of a document, and the state of its OCR; `page` counts from 1.

    It waits while there is neither an `engine` that has read it nor a `problem` that prevents it.
    """

    page: int
    key: PageKey
    engine: str = ""
    confidence: float | None = None
    problem: str = ""

    @property
    def waits(self) -> bool:
        """Whether it is still to be read."""
        return not self.engine and not self.problem


class ScannedPassage(NamedTuple):
    """The engine that read the page of a passage, its confidence (0 to 1), and boxes on that page.

    The boxes are those of the excerpt and its marked words. There are none if the engine returns none, or its result is
    no longer cached.
    """

    engine: str
    confidence: float
    box: Box | None = None
    marked: tuple[Box, ...] = ()


class RecognisedPages(Protocol):
    """Results of pages that were read before, in any document."""

    def get(self, key: PageKey) -> Recognition | PageProblem | None:
        """Return the result of reading a page; None if it was not read."""


class NoPages:
    """No results."""

    def get(self, _: PageKey) -> None:
        """Return None."""


def scan_of(page: int, key: PageKey, result: Recognition | PageProblem | None) -> Scan:
    """Return the state of a page's OCR."""
    match result:
        case Recognition():
            return Scan(page, key, result.engine, result.confidence)
        case PageProblem(message, is_final=True):
            return Scan(page, key, problem=message)
    return Scan(page, key)


DIRECTORY: Final = "directory"
"""The kind of a hit that is a directory."""


MISSING_READER: Final = ": to read it, "
"""Between the name of a format and what to install, in the details of a skipped file."""


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


_FINE_STAMP_NS = 20_000_000


_COARSE_STAMP_NS = 2_000_000_000


_NS_PER_SECOND = 1_000_000_000


_MAX_INTEGER = 2**63 - 1


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
        return changed_ns + (_FINE_STAMP_NS if changed_ns % _NS_PER_SECOND else _COARSE_STAMP_NS) < seen_ns


def source_file_of_status(path: FilePath, status: os.stat_result, *, has_inode: bool = True) -> SourceFile:
    """Return the stamp of a file; without `has_inode` its file system has no stable inode numbers."""
    if os.name != "posix":  # ctime is the creation time there, and a walk gets no inode
        return SourceFile(path, status.st_size, clamp_integer(status.st_mtime_ns))
    inode = clamp_integer(status.st_ino) if has_inode else 0
    return SourceFile(path, status.st_size, clamp_integer(status.st_mtime_ns), clamp_integer(status.st_ctime_ns), inode)


def clamp_integer(number: int) -> int:
    """Clamp a number of a file system to the range of SQLite: times may be in any year."""
    return max(-_MAX_INTEGER, min(number, _MAX_INTEGER))


def source_file(path: FilePath) -> SourceFile:
    """Return the stamp of a file outside a walk.

    Raises:
        OSError: the file does not exist or its directory cannot be read.
    """
    return source_file_of_status(path, os.stat(os_path(path)))


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
