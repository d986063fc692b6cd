"""Totals of files, bytes and chunks by directory, as a tree of limited size.

A directory with no indexed files is not listed: its failed and skipped files count for its parent.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.paths import FilePath, display, lies_in, prefix_of
from directory_indexer.storage.documents.statistics import DirectoryCount, sum_counts
from directory_indexer.storage.documents.store import Snapshot


class DirectoryUsage(NamedTuple):
    """A directory with everything below it; `n_hidden` directories in it only count towards its sums."""

    path: FilePath
    name: str
    counts: DirectoryCount
    subdirectories: tuple[DirectoryUsage, ...] = ()
    n_hidden: int = 0


def directory_usage(
    snapshot: Snapshot, within: FilePath | None, *, depth: int, max_subdirectories: int, exclude: FilePath | None = None
) -> DirectoryUsage:
    """Return the usage of a directory, or of all tracked ones except `exclude`, and of the directories below.

    Raises:
        NotIndexedError: the directory is not tracked, nor in one that is.
    """
    by_root = {root: counts for root, counts in snapshot.directory_counts.by_root().items() if root != exclude}
    if within is None:
        top = _Branch(FilePath(""))
        for root, counts in by_root.items():
            top.inner[root] = _build_tree(root, counts)
        top.sum_up()
        return _usage_of_branch(top, "", depth=depth + 1, most=max_subdirectories)
    tracked = next((root for root in by_root if lies_in(within, root)), None)
    if tracked is None:
        raise NotIndexedError(f"{display(within)} is not tracked", hint="dirindex status shows what is")
    branch = _build_tree(within, [count for count in by_root[tracked] if lies_in(count.path, within)])
    return _usage_of_branch(branch, os.path.basename(within) or within, depth=depth, most=max_subdirectories)


@dataclass(slots=True)
class _Branch:
    """A directory, its own counts, and the directories in it; `total` is the sum of all of that."""

    path: FilePath
    own: list[DirectoryCount] = field(default_factory=list)
    inner: dict[str, _Branch] = field(default_factory=dict)
    total: DirectoryCount = DirectoryCount(FilePath(""), 0, 0, 0, 0, 0, 0, None)  # noqa: RUF009 - immutable

    def sum_up(self) -> None:
        """Sum up from the deepest directory to this one, without recursion, which deep trees would exceed."""
        order, at = [self], 0
        while at < len(order):
            order += order[at].inner.values()
            at += 1
        for branch in reversed(order):
            parts = [*branch.own, *(child.total for child in branch.inner.values())]
            branch.total = sum_counts(branch.path, parts)


def _build_tree(root: FilePath, counts: Iterable[DirectoryCount]) -> _Branch:
    top = _Branch(root)
    prefix = prefix_of(root)
    for count in counts:
        branch = top
        for name in filter(None, count.path.removeprefix(prefix).split(os.sep) if count.path != root else ()):
            inner_path = FilePath(prefix_of(branch.path) + name)
            branch = branch.inner.setdefault(name, _Branch(inner_path))
        branch.own.append(count)
    top.sum_up()
    return top


def _usage_of_branch(branch: _Branch, name: str, *, depth: int, most: int) -> DirectoryUsage:
    if not depth:
        return DirectoryUsage(branch.path, name, branch.total)
    children = [
        _collapse_single_children(child_name, child)
        for child_name, child in branch.inner.items()
        if child.total.n_files
    ]
    children.sort(key=lambda item: (-item[1].total.n_bytes, item[0]))
    places = tuple(
        _usage_of_branch(child, child_name, depth=depth - 1, most=most) for child_name, child in children[:most]
    )
    return DirectoryUsage(branch.path, name, branch.total, places, len(children) - len(places))


def _collapse_single_children(name: str, branch: _Branch) -> tuple[str, _Branch]:
    """Descend past directories that contain nothing but one directory."""
    while not branch.own and len(branch.inner) == 1:
        [(only, branch)] = branch.inner.items()
        name = f"{name}{os.sep}{only}"
    return name, branch
