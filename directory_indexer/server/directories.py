"""Directories that a client may index: tracked ones, and those that the operator allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from directory_indexer.errors import NotIndexedError, UsageError
from directory_indexer.paths import FilePath, display, exact_text, file_path, lies_in, written_path
from directory_indexer.server.places import below_or_beside, require_sane


def to_index(
    name: str,
    *,
    tracked: Sequence[FilePath],
    allowed: Sequence[FilePath],
    is_known: Callable[[FilePath], bool] = lambda _: False,
) -> tuple[FilePath, ...]:
    """Return the directories that a client asks to index; an empty name means all.

    A path that the index knows need not exist any more: the run will remove it.

    Raises:
        UsageError: the directory is not allowed or does not exist.
        NotIndexedError: nothing is tracked and the operator allows nothing.
    """
    if not name:
        new = [path for path in allowed if not any(lies_in(path, root) or lies_in(root, path) for root in tracked)]
        if not tracked and not new:
            raise NotIndexedError(
                "nothing is indexed yet, and the operator of this server allows no directory", hint=_OPERATOR
            )
        return (*tracked, *new)
    name = written_path(name)
    require_sane(name)
    paths = _resolve_name(name, [*tracked, *allowed])
    below = [(path, root) for path in paths for root in tracked if lies_in(path, root)]
    addable = [(path, path) for path in paths if any(lies_in(path, root) for root in allowed)]
    for path, directory in [*below, *addable]:
        if is_known(path) or os.path.lexists(exact_text(path)):
            return (directory,)
    if below or addable:
        raise UsageError(f"there is no '{name}'", hint="give the path of a directory or file that is there, or none")
    places = ", ".join(map(display, dict.fromkeys([*tracked, *allowed]))) or "none"
    raise UsageError(f"'{name}' may not be indexed from here; allowed are: {places}", hint=_OPERATOR)


def _resolve_name(name: str, roots: Iterable[FilePath]) -> list[FilePath]:
    plain = exact_text(FilePath(name))
    paths = [plain] if os.path.isabs(plain) else [path for root in roots for path in below_or_beside(root, plain)]
    return [file_path(os.path.realpath(path)) for path in paths]


_OPERATOR = (
    "the operator adds one with `dirindex index DIRECTORY`, or starts this server with `dirindex serve DIRECTORY`"
)
