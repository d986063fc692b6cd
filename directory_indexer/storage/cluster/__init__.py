"""The interface of a cluster index to index runs, and its implementation without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.core.findings import Finding


class ClusterCopy(Protocol):
    """A copy of the index that runs keep up to date."""

    def update(self, *, must_stop: Callable[[], bool] = lambda: False, leaves_no_trace: bool = False) -> None:
        """Update the copy; with `leaves_no_trace`, records of removed content are deleted as well.

        Raises:
            VectorStoreError: the server cannot be reached, or has the cluster index of another index by that name.
        """

    def mend(self) -> None:
        """Verify the whole copy, and update it.

        Raises:
            VectorStoreError: as above.
        """

    def findings(self) -> Iterator[Finding]:
        """Compare the copy with the index."""

    def close(self) -> None:
        """Close files."""


class NoClusterCopy:
    """The implementation without a cluster index."""

    def update(self, *, must_stop: Callable[[], bool] = lambda: False, leaves_no_trace: bool = False) -> None:
        """Do nothing."""

    def mend(self) -> None:
        """Do nothing."""

    def findings(self) -> Iterator[Finding]:
        """Yield nothing."""
        yield from ()

    def close(self) -> None:
        """Do nothing."""
