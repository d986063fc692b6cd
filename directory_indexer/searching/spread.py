"""How an index is spread over directories, as a tree that is small enough to look at.

A directory with nothing indexed in it is not named: what failed or was skipped there counts for its parent.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from directory_indexer.docstore.directory_counts import DirectoryCount, summed
from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import NotIndexedError
from directory_indexer.paths import FilePath, display, lies_in, prefix_of


class Place(NamedTuple):
    """A directory and all that is in it; `n_hidden` directories in it only count towards its sums."""

    path: FilePath
    name: str
    counts: DirectoryCount
    places: tuple[Place, ...] = ()
    n_hidden: int = 0


def spread(
    snapshot: Snapshot, within: FilePath | None, *, depth: int, most: int, without: FilePath | None = None
) -> Place:
    """Tell what is in a directory, or in all tracked ones except `without`, and in the directories below.

    Raises:
        NotIndexedError: the directory is not tracked, nor in one that is.
    """
    by_root = {root: counts for root, counts in snapshot.directory_counts.by_root().items() if root != without}
    if within is None:
        top = _Branch(FilePath(""))
        for root, counts in by_root.items():
            top.inner[root] = _tree(root, counts)
        top.sum_up()
        return _place(top, "", depth=depth + 1, most=most)
    around = next((root for root in by_root if lies_in(within, root)), None)
    if around is None:
        raise NotIndexedError(f"{display(within)} is not tracked", hint="dirindex status shows what is")
    branch = _tree(within, [one for one in by_root[around] if lies_in(one.path, within)])
    return _place(branch, os.path.basename(within) or within, depth=depth, most=most)


@dataclass(slots=True)
class _Branch:
    """A directory, what is directly in it, and the directories in it; `total` sums all of that up."""

    path: FilePath
    own: list[DirectoryCount] = field(default_factory=list)
    inner: dict[str, _Branch] = field(default_factory=dict)
    total: DirectoryCount = DirectoryCount(FilePath(""), 0, 0, 0, 0, 0, 0, None)  # noqa: RUF009 - it is immutable

    def sum_up(self) -> None:
        """Sum up from the deepest directory to this one, without recursion, which deep trees would exceed."""
        order, at = [self], 0
        while at < len(order):
            order += order[at].inner.values()
            at += 1
        for branch in reversed(order):
            parts = [*branch.own, *(one.total for one in branch.inner.values())]
            branch.total = summed(branch.path, parts)


def _tree(root: FilePath, counts: Iterable[DirectoryCount]) -> _Branch:
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


def _place(branch: _Branch, name: str, *, depth: int, most: int) -> Place:
    if not depth:
        return Place(branch.path, name, branch.total)
    inner = [_collapsed(inner_name, one) for inner_name, one in branch.inner.items() if one.total.n_files]
    inner.sort(key=lambda one: (-one[1].total.n_bytes, one[0]))
    places = tuple(_place(one, inner_name, depth=depth - 1, most=most) for inner_name, one in inner[:most])
    return Place(branch.path, name, branch.total, places, len(inner) - len(places))


def _collapsed(name: str, branch: _Branch) -> tuple[str, _Branch]:
    """Go down past directories that hold nothing but one directory."""
    while not branch.own and len(branch.inner) == 1:
        [(only, branch)] = branch.inner.items()
        name = f"{name}{os.sep}{only}"
    return name, branch
