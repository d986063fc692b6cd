"""Which directories a client may have indexed: those that are tracked, and those that the operator allows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from directory_indexer.errors import NotIndexedError, UsageError
from directory_indexer.paths import FilePath, display, exact_text, file_path, lies_in
from directory_indexer.server.places import below_or_beside, require_sane


def to_index(name: str, *, tracked: Sequence[FilePath], allowed: Sequence[FilePath]) -> tuple[FilePath, ...]:
    """Find the directories that a client wants to have indexed; an empty name means all.

    Raises:
        UsageError: the directory is not allowed, or none is tracked or allowed.
        NotIndexedError: nothing is tracked and the operator allows nothing.
    """
    if not name:
        new = [path for path in allowed if not any(lies_in(path, root) or lies_in(root, path) for root in tracked)]
        if not tracked and not new:
            raise NotIndexedError(
                "nothing is indexed yet, and the operator of this server allows no directory", hint=_OPERATOR
            )
        return (*tracked, *new)
    require_sane(name)
    meant = _meant(name, [*tracked, *allowed])
    for path in meant:
        if around := [root for root in tracked if lies_in(path, root)]:
            return (around[0],)
    for path in meant:
        if any(lies_in(path, root) for root in allowed):
            return (path,)
    places = ", ".join(map(display, dict.fromkeys([*tracked, *allowed]))) or "none"
    raise UsageError(f"'{name}' may not be indexed from here; allowed are: {places}", hint=_OPERATOR)


def _meant(name: str, roots: Iterable[FilePath]) -> list[FilePath]:
    plain = exact_text(FilePath(name))
    paths = [plain] if os.path.isabs(plain) else [one for root in roots for one in below_or_beside(root, plain)]
    return [file_path(os.path.realpath(path)) for path in paths]


_OPERATOR = (
    "the operator adds one with `dirindex index DIRECTORY`, or starts this server with `dirindex serve DIRECTORY`"
)
