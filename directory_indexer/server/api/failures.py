"""Errors of this program as statuses of HTTP; each says as much as somebody else may hear."""

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
_LATER_SECONDS = 60
_SAYS_IT = ""
TOO_LARGE = Problem(413, "too_large", _SAYS_IT)

PROBLEMS: tuple[tuple[type[DirIndexError], Problem], ...] = (
    (BusyError, BUSY),
    (NotIndexedError, Problem(404, "not_found", _SAYS_IT)),
    (NotHereError, Problem(501, "not_here", _SAYS_IT)),
    (ConflictError, Problem(409, "conflict", _SAYS_IT)),
    (NotStoppableError, Problem(403, "forbidden", _SAYS_IT)),
    (ContentRefusedError, Problem(422, "content_refused", _SAYS_IT)),
    (OverlapError, Problem(409, "conflict", _SAYS_IT)),
    (ConsentNeededError, Problem(409, "consent_needed", _SAYS_IT)),
    (IndexMismatchError, Problem(409, "index_mismatch", _SAYS_IT)),
    (UsageError, Problem(422, "invalid_request", _SAYS_IT)),
    (LockedError, Problem(503, "locked", _SAYS_IT, _RETRY_SECONDS)),
    (
        ProviderError,
        Problem(503, "provider", "the service that embeds cannot be used now; mode keyword can", _RETRY_SECONDS),
    ),
    (DiskFullError, Problem(507, "disk_full", "there is no room left on the disk of the server", _LATER_SECONDS)),
    (
        UnavailableError,
        Problem(503, "unavailable", "the index cannot be used now; the log of the server says why", _RETRY_SECONDS),
    ),
)
"""The first row that fits counts. Where no words stand here, those of the error are about what the client has sent."""


def problem_of(error: DirIndexError) -> Problem:
    """Turn an error into what a client is told of it."""
    problem = next((problem for kind, problem in PROBLEMS if isinstance(error, kind)), BUG)
    if isinstance(error, ContentRefusedError) and error.reason is RefusalReason.TOO_LARGE:
        problem = TOO_LARGE
    if problem.detail != _SAYS_IT:
        return problem
    hint = f" ({error.hint})" if error.hint and not error.hint.startswith("dirindex ") else ""
    return problem._replace(detail=f"{error.message}{hint}")
