"""The cluster index, a copy of an index in Qdrant for servers without a database, as index runs see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.core.notes import Finding


class ClusterCopy:
    """The cluster copy of an index, which runs keep up to date; this base class is for indexes without one.

    Raises:
        VectorStoreError: the server cannot be reached, or has the cluster index of another index by that name.
    """

    is_kept: ClassVar[bool] = False

    def update(self, *, must_stop: Callable[[], bool] = lambda: False, purges_removed: bool = False) -> None:
        """Update the copy; with `purges_removed`, records of removed content are deleted as well."""

    def repair(self) -> None:
        """Verify the whole copy, and update it."""

    def findings(self) -> Iterator[Finding]:
        """Compare the copy with the index."""
        yield from ()

    def close(self) -> None:
        """Close files."""
