"""Resolution of command-line paths to tracked directories."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence

from directory_indexer.core.errors import NotIndexedError, OverlapError, UsageError
from directory_indexer.core.files import Stage
from directory_indexer.core.paths import FilePath, display, file_path, lies_in, os_path, resolved_path
from directory_indexer.storage.documents.known_files import FileState
from directory_indexer.storage.documents.store import Snapshot
from directory_indexer.walk.listing import WalkPolicy


def resolve_roots(paths: Sequence[str], tracked: Collection[FilePath]) -> list[FilePath]:
    """Resolve paths; a tracked path stays as it is, even if it is a link now."""
    absolute_paths = [(path, _absolute_path(path)) for path in paths]
    return [absolute if absolute in tracked else resolved_path(path) for path, absolute in absolute_paths]


def roots_or_all_tracked(paths: Sequence[FilePath], tracked: Collection[FilePath]) -> list[FilePath]:
    """Return these directories, which may be new ones; without any, all that are tracked.

    Raises:
        UsageError: a path is not a directory, or nothing is tracked.
        OverlapError: a path lies inside or around a tracked directory.
    """
    if not paths and not tracked:
        raise UsageError("no directory is tracked yet", hint="dirindex index PATH adds one")
    roots = list(dict.fromkeys(paths)) or list(tracked)
    for root in roots:
        _require_directory(root, tracked)
        _require_no_overlap(root, [*tracked, *roots])
    return roots


def require_not_reserved(roots: Iterable[FilePath], policy: WalkPolicy) -> None:
    """Refuse directories of collections, except the documents of this one.

    Raises:
        UsageError: a directory lies in that of collections.
    """
    for root in roots:
        if policy.reserved and lies_in(root, policy.reserved) and root != policy.documents:
            raise UsageError(
                f"{display(root)} lies in the directory of collections",
                hint="search a collection with --collection NAME; dirindex collection list shows which there are",
            )


def forgettable_path(path: str, snapshot: Snapshot) -> FilePath:
    """Return the tracked directory at a path, or a path in one that the last run could not reach.

    Raises:
        NotIndexedError: there is none.
    """
    tracked = snapshot.directories.all()
    # A link that is broken now was indexed under its own path.
    as_given = _absolute_path(path)
    for candidate in (as_given, resolved_path(path)):
        known = snapshot.files.get(candidate)
        if candidate in tracked or (known and (known.state, known.reason) == (FileState.FAILED, Stage.WALK)):
            return candidate
    raise NotIndexedError(f"{display(as_given)} is not tracked", hint=_tracked_hint(tracked))


def require_forgettable(root: FilePath, policy: WalkPolicy) -> None:
    """Refuse to forget the sent documents, which would exist without being searchable.

    Raises:
        UsageError: it is their directory.
    """
    if root == policy.documents:
        raise UsageError(
            f"{display(root)} contains sent documents",
            hint="dirindex documents delete removes them; dirindex collection delete removes all of a collection",
        )


def _absolute_path(path: str) -> FilePath:
    return file_path(os.path.abspath(os.path.expanduser(path)))


def _require_directory(root: FilePath, tracked: Collection[FilePath]) -> None:
    path = os_path(root)
    if root in tracked or os.path.isdir(path):
        return
    if os.path.exists(path):
        directory = display(FilePath(os.path.dirname(root)))
        raise UsageError(f"{path} is a file; directories are indexed", hint=f"dirindex index {directory}")
    raise UsageError(f"{path} does not exist", hint="check the path; nothing was changed")


def _require_no_overlap(root: FilePath, others: Sequence[FilePath]) -> None:
    for other in others:
        if other != root and lies_in(root, other):
            raise OverlapError(
                f"{display(root)} lies in {display(other)}, which is tracked as a whole",
                hint=f"dirindex index {display(other)}",
            )
        if other != root and lies_in(other, root):
            raise OverlapError(
                f"{display(root)} holds {display(other)}, which is tracked by itself",
                hint=f"dirindex forget {display(other)}, then dirindex index {display(root)}",
            )


def _tracked_hint(tracked: Collection[FilePath]) -> str:
    return f"tracked directories: {', '.join(map(display, tracked))}" if tracked else "no directory is tracked"
