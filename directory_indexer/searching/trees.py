"""Outline of a directory: a tree of the files indexed below it, with passages, kinds and size."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from directory_indexer.docstore.files import FileSize
from directory_indexer.docstore.store import Snapshot
from directory_indexer.extractors.document import FileFacts
from directory_indexer.paths import FilePath, members_directory, prefix_of
from directory_indexer.searching.outlines import Entry, Outline

DIRECTORY = "directory"
"""The kind of a directory."""


def directory_outline(snapshot: Snapshot, path: FilePath) -> Outline:
    """Return the outline of what is indexed below a directory, or in a container."""
    top = _Branch()
    starts = (prefix_of(path), prefix_of(members_directory(path)))
    for size in snapshot.files.sizes(path):
        start = next((prefix for prefix in starts if size.path.startswith(prefix)), None)
        if start is not None:
            top.add(size.path.removeprefix(start).split(os.sep), size)
    return Outline(
        path,
        FileFacts(DIRECTORY),
        top.n_tokens,
        tuple(_branch_entries(top, 0)),
        n_files=top.n_files,
        n_chunks=top.n_chunks,
        is_directory=True,
    )


@dataclass(slots=True)
class _Branch:
    """A directory with everything below it, or a file."""

    n_files: int = 0
    n_chunks: int = 0
    n_tokens: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    inner: dict[str, _Branch] = field(default_factory=dict)

    def add(self, names: Iterable[str], size: FileSize) -> None:
        """Count a file here and in every directory on the way to it."""
        branch = self
        branch.count(size)
        for name in names:
            branch = branch.inner.setdefault(name, _Branch())
            branch.count(size)

    def count(self, size: FileSize) -> None:
        """Count a file here."""
        self.n_files += 1
        self.n_chunks += size.n_chunks
        self.n_tokens += size.n_tokens
        self.kinds[size.kind] += 1


def _branch_entries(top: _Branch, depth: int) -> Iterator[Entry]:
    """Yield directories before files, each with its contents; recursion would fail at some depth."""
    stack = [(name, branch, depth) for name, branch in _sorted_children(top)][::-1]
    while stack:
        name, branch, level = stack.pop()
        while len(branch.inner) == 1 and next(iter(branch.inner.values())).inner:
            [(only, branch)] = branch.inner.items()
            name = f"{name}{os.sep}{only}"
        mark = os.sep if branch.inner else ""
        yield Entry(
            f"{name}{mark}",
            level,
            branch.n_tokens,
            n_files=branch.n_files if branch.inner else 0,
            n_chunks=branch.n_chunks,
            kinds=tuple(branch.kinds.most_common()),
        )
        stack += [(inner_name, inner, level + 1) for inner_name, inner in _sorted_children(branch)][::-1]


def _sorted_children(branch: _Branch) -> list[tuple[str, _Branch]]:
    return sorted(branch.inner.items(), key=lambda item: (not item[1].inner, item[0]))
