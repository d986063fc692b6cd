"""Every error that dirindex raises on purpose, and the exit code that each one ends a command with.

DirIndexError                     70  a bug, when nothing more precise is raised
├── UsageError                    2  invalid request: a bad argument, a path that does not exist
│   ├── ConfigError                2  the configuration has mistakes, all of them listed
│   ├── OverlapError               2  a directory lies inside or around a tracked one
│   ├── ConsentNeededError         2  the run would redo or read much, and has no consent
│   ├── ContentRefusedError        2  the document is or contains a secret, is empty, too large or unreadable
│   ├── NotStoppableError          2  a client asks to stop a run that was started in a terminal
│   ├── NotHereError               2  this server does not do that; the machine that has the index does
│   └── ConflictError              2  it exists already, is being deleted, or is not in the required state
├── NotIndexedError                1  the file or directory is not in the index
├── UnavailableError               3  a required resource is unavailable
│   ├── BusyError                  3  too many requests are waiting; retry later
│   ├── ProviderError              3  an embedding or OCR service is unreachable, rejects requests or answers nonsense
│   │   └── TextsRefusedError      3  it rejects some of the texts, and embedded the others
│   ├── StoreError                 3  SQLite or the vector store cannot be read or written
│   │   ├── DiskFullError          3  the disk is full
│   │   ├── CorruptIndexError      3  the database is damaged and has to be rebuilt
│   │   ├── CorruptRegistryError   3  the registry has invalid content; it cannot be rebuilt
│   │   ├── OcrCacheError         3  OCR results cannot be stored; pages wait
│   │   ├── VectorStoreError       3  the vectors cannot be reached, read or written; words still answer
│   │   │   └── VectorsLostError   3  they are damaged or missing, and must be computed again from the texts
│   │   └── GenerationGoneError    3  vectors were replaced meanwhile; a retry on the newer index succeeds
│   ├── IndexMismatchError         3  the index was built by another model, chunking or version
│   └── RootUnavailableError       3  a tracked directory is missing, unreadable or suddenly empty
├── LockedError                    4  another run holds the write lock
└── ExtractionError                -  one file could not be read as text; collected, never ends a run
    ├── SkipFileError              -  one file has nothing to index, for a named reason
    ├── PageRefusedError           -  a service will never read one page; another engine may
    └── ReaderError                -  a configured or external reader fails, perhaps only this time
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import ClassVar

from directory_indexer.core.lazy import lazily

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.core.files import SkipReason


class ExitCode(IntEnum):
    """Exit code of a command."""

    DONE = 0
    INCOMPLETE = 1
    """Nothing was found, or some files failed."""

    USAGE = 2
    UNAVAILABLE = 3
    LOCKED = 4
    BUG = 70
    INTERRUPTED = 130


class DirIndexError(Exception):
    """An error with what happened, to which path or value, and in `hint` what to do next."""

    exit_code: ClassVar[ExitCode] = ExitCode.BUG

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(DirIndexError):
    """The request is invalid."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """The configuration has mistakes; the message lists every one with its key."""


class OverlapError(UsageError):
    """A directory lies inside or around a tracked one."""


class ConsentNeededError(UsageError):
    """The run would redo or read much, and has no consent."""


class RefusalReason(StrEnum):
    """Reasons for rejecting the content of a document."""

    SECRET = "secret"  # noqa: S105 - the name of a reason, not a password
    EMPTY = "empty"
    TOO_LARGE = "too large"
    UNREADABLE = "unreadable"


class ContentRefusedError(UsageError):
    """A document that was sent is rejected for a named reason; nothing is changed."""

    def __init__(self, reason: RefusalReason, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class NotStoppableError(UsageError):
    """A client asks to stop a run that was started in a terminal."""


class NotHereError(UsageError):
    """This server answers from a cluster only and cannot do that; the machine with the index can."""


class ConflictError(UsageError):
    """The object to create exists, the object to change is being deleted, or no run is in the required state."""


class NotIndexedError(DirIndexError):
    """The file or directory is not in the index."""

    exit_code = ExitCode.INCOMPLETE


class UnavailableError(DirIndexError):
    """A required resource is unavailable."""

    exit_code = ExitCode.UNAVAILABLE


class BusyError(UnavailableError):
    """Too many requests are waiting."""


class ProviderError(UnavailableError):
    """An embedding or OCR service is unreachable, rejects requests, or returns invalid answers."""


class TextsRefusedError(ProviderError):
    """The provider rejects some texts: `reasons` by index; their rows in `vectors` are zero."""

    def __init__(self, reasons: Mapping[int, str], vectors: NDArray[np.float32]) -> None:
        super().__init__(f"{len(reasons)} of {len(vectors)} texts were refused: {next(iter(reasons.values()))}")
        self.reasons = reasons
        self.vectors = vectors


class StoreError(UnavailableError):
    """SQLite or the vector store cannot be read or written."""


class DiskFullError(StoreError):
    """The disk is full."""


REBUILD_HINT = "dirindex doctor --repair sets the damaged database aside and builds the index again"


class CorruptIndexError(StoreError):
    """The database is damaged and has to be rebuilt."""


class CorruptRegistryError(StoreError):
    """The registry has invalid content; unlike an index, it cannot be rebuilt."""


class OcrCacheError(StoreError):
    """OCR results cannot be stored; pages wait, and everything else continues."""


class VectorStoreError(StoreError):
    """The vectors cannot be reached, read or written; the database and search by words work without them."""


class VectorsLostError(VectorStoreError):
    """The vectors are damaged or missing, and must be computed again from the texts."""


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
    """One file has nothing to index, for a named reason."""

    def __init__(self, reason: SkipReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class PageRefusedError(ExtractionError):
    """A service will never read one page, though it reads others; another engine may."""


class ReaderError(ExtractionError):
    """A configured or external reader of a file fails, perhaps not because of the file."""
