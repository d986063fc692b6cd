"""Errors as HTTP problems, with no more detail than a client may see."""

from __future__ import annotations

from directory_indexer.errors import (
    BusyError,
    ConflictError,
    ConsentNeededError,
    ContentRefusedError,
    DirIndexError,
    DiskFullError,
    IndexMismatchError,
    LockedError,
    NotHereError,
    NotIndexedError,
    NotStoppableError,
    OverlapError,
    ProviderError,
    RefusalReason,
    UnavailableError,
    UsageError,
)
from directory_indexer.server.gate.problems import BUG, BUSY, Problem

_RETRY_SECONDS = 2
_LONG_RETRY_SECONDS = 60
_FROM_ERROR = ""
TOO_LARGE = Problem(413, "too_large", _FROM_ERROR)

PROBLEMS: tuple[tuple[type[DirIndexError], Problem], ...] = (
    (BusyError, BUSY),
    (NotIndexedError, Problem(404, "not_found", _FROM_ERROR)),
    (NotHereError, Problem(501, "not_here", _FROM_ERROR)),
    (ConflictError, Problem(409, "conflict", _FROM_ERROR)),
    (NotStoppableError, Problem(403, "forbidden", _FROM_ERROR)),
    (ContentRefusedError, Problem(422, "content_refused", _FROM_ERROR)),
    (OverlapError, Problem(409, "conflict", _FROM_ERROR)),
    (ConsentNeededError, Problem(409, "consent_needed", _FROM_ERROR)),
    (IndexMismatchError, Problem(409, "index_mismatch", _FROM_ERROR)),
    (UsageError, Problem(422, "invalid_request", _FROM_ERROR)),
    (LockedError, Problem(503, "locked", _FROM_ERROR, _RETRY_SECONDS)),
    (
        ProviderError,
        Problem(503, "provider", "the service that embeds cannot be used now; mode keyword can", _RETRY_SECONDS),
    ),
    (DiskFullError, Problem(507, "disk_full", "there is no room left on the disk of the server", _LONG_RETRY_SECONDS)),
    (
        UnavailableError,
        Problem(503, "unavailable", "the index cannot be used now; the log of the server says why", _RETRY_SECONDS),
    ),
)
"""The first matching row applies. An empty detail is replaced by the message, which is about the client's input."""


def problem_of(error: DirIndexError) -> Problem:
    """Return the problem for an error."""
    problem = next((problem for kind, problem in PROBLEMS if isinstance(error, kind)), BUG)
    if isinstance(error, ContentRefusedError) and error.reason is RefusalReason.TOO_LARGE:
        problem = TOO_LARGE
    if problem.detail != _FROM_ERROR:
        return problem
    hint = f" ({error.hint})" if error.hint and not error.hint.startswith("dirindex ") else ""
    return problem._replace(detail=f"{error.message}{hint}")
