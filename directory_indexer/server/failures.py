"""Error messages for models: each names the call to make next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from directory_indexer.errors import (
    BusyError,
    CorruptIndexError,
    CorruptRegistryError,
    DirIndexError,
    IndexMismatchError,
    LockedError,
    NotHereError,
    NotIndexedError,
    NotStoppableError,
    ProviderError,
    StoreError,
    UsageError,
    VectorStoreError,
)
from directory_indexer.server.passages import one_line

NextCalls: TypeAlias = Sequence[tuple[type[DirIndexError], str]]
"""The next call after an error, by its class; the first matching row applies."""


class NoRunError(UsageError):
    """No index run can be stopped."""


NEXT_CALLS: Final[NextCalls] = (
    (
        NotIndexedError,
        "call server_info to see what is indexed and what may be, search to find files, or index to add or refresh.",
    ),
    (BusyError, "repeat the call in a second."),
    (NoRunError, "call server_info to see how the last one ended, or index without action to start one."),
    (NotStoppableError, "tell the user, or call index without action to wait for it."),
    (NotHereError, "call search or get_content here, or tell the user which machine has the index."),
    (UsageError, "correct this and call the same tool again."),
    (ProviderError, 'call search with mode="keyword", or again in a few seconds.'),
    (IndexMismatchError, 'call search with mode="keyword"; the user can run `dirindex index --yes`.'),
    (LockedError, "call server_info to see the run that goes on, then index again."),
    (CorruptIndexError, "ask the user to run `dirindex doctor --repair`."),
    (CorruptRegistryError, "ask the user to run `dirindex doctor --repair`."),
    (VectorStoreError, 'call search with mode="keyword"; the user can run `dirindex doctor`.'),
    (StoreError, "ask the user to run `dirindex doctor`."),
    (DirIndexError, "call server_info."),
)

NEXT_CALLS_FROM_CLUSTER: Final[NextCalls] = (
    (NotIndexedError, "call search to find files, or server_info to see which directories are indexed."),
    (VectorStoreError, "call the same tool again in a minute; if that fails, too, tell the user."),
    (IndexMismatchError, 'call search with mode="keyword", and tell the user.'),
    *NEXT_CALLS,
)
"""The next calls for a server that only reads a cluster index."""


def failure_text(error: DirIndexError, next_calls: NextCalls = NEXT_CALLS) -> str:
    """Format an error and the call to make next."""
    hint = f" ({error.hint})" if error.hint and not error.hint.startswith("dirindex ") else ""
    next_call = next(next_call for kind, next_call in next_calls if isinstance(error, kind))
    return f"{one_line(error.message)}{one_line(hint)}. Next: {next_call}"
