"""Every error that dirindex raises on purpose, and the exit code that each one ends a command with.

DirIndexError                     70  a bug, when nothing more precise is raised
├── UsageError                    2  invalid request: a bad argument, a path that does not exist
│   ├── ConfigError                2  the configuration has mistakes, all of them listed
│   ├── OverlapError               2  a directory lies inside or around a tracked one
│   ├── ConsentNeededError         2  the run would redo or take much, and was not told that it may
│   ├── ContentRefusedError        2  what was sent is a secret, holds one, is empty, too large or unreadable
│   ├── NotStoppableError          2  a client asks a run to stop that was started in a terminal
│   ├── NotHereError               2  this server does not do that; the machine that has the index does
│   └── ConflictError              2  it is there already, is being deleted, or does not stand as it would have to
├── NotIndexedError                1  the file or directory is not in the index
├── UnavailableError               3  something that is needed cannot be used now
│   ├── BusyError                  3  more waits already than can be answered in time; asking again later helps
│   ├── ProviderError              3  a service that embeds or reads pages is away, refuses, or answers nonsense
│   │   └── TextsRefusedError      3  it refuses some of the texts, and gave vectors for the others
│   ├── StoreError                 3  SQLite or the vector store cannot be read or written
│   │   ├── DiskFullError          3  there is no room left on the disk
│   │   ├── CorruptIndexError      3  the database is damaged and has to be built again
│   │   ├── CorruptRegistryError   3  the registry holds what dirindex does not write; it cannot be built again
│   │   ├── PageCacheError         3  what OCR has read cannot be kept; pages wait
│   │   ├── VectorStoreError       3  the vectors cannot be reached, read or written; words still answer
│   │   │   └── VectorsLostError   3  they are damaged or not there, and must be made again from the texts
│   │   └── GenerationGoneError    3  vectors were replaced meanwhile; asking the newer index again succeeds
│   ├── IndexMismatchError         3  the index was built by another model, chunking or version
│   └── RootUnavailableError       3  a tracked directory is missing, unreadable or suddenly empty
├── LockedError                    4  another run holds the write lock
└── ExtractionError                -  one file could not be read as text; collected, never ends a run
    ├── SkipFileError              -  one file holds nothing to index, for a reason with a name
    ├── PageRefusedError           -  a service will never read one page; another engine may
    └── ReaderError                -  what the configuration names to read it fails, and may not the next time
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import ClassVar

from directory_indexer.lazy import lazily

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.files import SkipReason


class ExitCode(IntEnum):
    """How a command ended, as shells see it."""

    DONE = 0
    INCOMPLETE = 1
    """Nothing was found, or some files failed."""

    USAGE = 2
    UNAVAILABLE = 3
    LOCKED = 4
    BUG = 70
    INTERRUPTED = 130


class DirIndexError(Exception):
    """Say what happened, to which path or value, and in `hint` what to do next."""

    exit_code: ClassVar[ExitCode] = ExitCode.BUG

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(DirIndexError):
    """The request cannot be meant."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """The configuration has mistakes; the message lists every one with its key."""


class OverlapError(UsageError):
    """A directory lies inside or around a tracked one."""


class ConsentNeededError(UsageError):
    """The run would redo or take much, and was not told that it may."""


class RefusalReason(StrEnum):
    """Why the content of a document is not taken."""

    SECRET = "secret"  # noqa: S105 - the name of a reason, not a password
    EMPTY = "empty"
    TOO_LARGE = "too large"
    UNREADABLE = "unreadable"


class ContentRefusedError(UsageError):
    """What was sent is not taken, for a reason with a name; nothing is changed by it."""

    def __init__(self, reason: RefusalReason, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class NotStoppableError(UsageError):
    """A client asks a run to stop that was started in a terminal."""


class NotHereError(UsageError):
    """This server answers from a cluster alone, and cannot do that; the machine that has the index can."""


class ConflictError(UsageError):
    """What is to be made is there already, what is to be changed is being deleted, or no run stands as it must."""


class NotIndexedError(DirIndexError):
    """The file or directory is not in the index."""

    exit_code = ExitCode.INCOMPLETE


class UnavailableError(DirIndexError):
    """Something that is needed cannot be used now."""

    exit_code = ExitCode.UNAVAILABLE


class BusyError(UnavailableError):
    """More waits already than can be answered in time."""


class ProviderError(UnavailableError):
    """A service that embeds or reads pages is away, refuses, or answers nonsense."""


class TextsRefusedError(ProviderError):
    """The provider refuses some texts; `reasons` says which, by index, and `vectors` has zeros in their rows."""

    def __init__(self, reasons: Mapping[int, str], vectors: NDArray[np.float32]) -> None:
        super().__init__(f"{len(reasons)} of {len(vectors)} texts were refused: {next(iter(reasons.values()))}")
        self.reasons = reasons
        self.vectors = vectors


class StoreError(UnavailableError):
    """SQLite or the vector store cannot be read or written."""


class DiskFullError(StoreError):
    """There is no room left on the disk."""


REBUILD = "dirindex doctor --repair sets the damaged database aside and builds the index again"


class CorruptIndexError(StoreError):
    """The database is damaged and has to be built again."""


class CorruptRegistryError(StoreError):
    """The registry holds what dirindex does not write; other than an index, nothing builds it again."""


class PageCacheError(StoreError):
    """What OCR has read cannot be kept; pages wait, and all else goes on."""


class VectorStoreError(StoreError):
    """The vectors cannot be reached, read or written; the database and search by words work without them."""


class VectorsLostError(VectorStoreError):
    """The vectors are damaged or not where they should be, and must be made again from the texts."""


class GenerationGoneError(StoreError):
    """A generation of vectors was replaced and discarded meanwhile; the database names a newer one."""


class IndexMismatchError(UnavailableError):
    """The index was built by another model, chunking or version."""


class RootUnavailableError(UnavailableError):
    """A tracked directory is missing, unreadable or suddenly empty."""


class LockedError(DirIndexError):
    """Another run holds the write lock."""

    exit_code = ExitCode.LOCKED


class ExtractionError(DirIndexError):
    """One file could not be read as text."""


class SkipFileError(ExtractionError):
    """One file holds nothing to index, for a reason with a name."""

    def __init__(self, reason: SkipReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class PageRefusedError(ExtractionError):
    """A service will never read one page, though it reads others; another engine may."""


class ReaderError(ExtractionError):
    """What the configuration names to read a file fails, which may not be for the file."""
