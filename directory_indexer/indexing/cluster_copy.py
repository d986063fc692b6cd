"""What a run keeps in step with the index, where something is configured: the boundary to a cluster index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.findings import Finding


class ClusterCopy(Protocol):
    """What a run brings up to date when the index has changed."""

    def update(self, *, must_stop: Callable[[], bool] = lambda: False, leaves_no_trace: bool = False) -> None:
        """Bring it up to date; with `leaves_no_trace`, nothing of what is gone is left there.

        Raises:
            VectorStoreError: the server cannot be reached, or has the cluster index of another index by that name.
        """

    def mend(self) -> None:
        """Bring it up to date after a look at all that is there.

        Raises:
            VectorStoreError: as above.
        """

    def findings(self) -> Iterator[Finding]:
        """Look whether it agrees with the index."""

    def close(self) -> None:
        """Give back files and memory."""


class NoClusterCopy:
    """Stands where no cluster index is configured."""

    def update(self, *, must_stop: Callable[[], bool] = lambda: False, leaves_no_trace: bool = False) -> None:
        """Do nothing."""

    def mend(self) -> None:
        """Do nothing."""

    def findings(self) -> Iterator[Finding]:
        """Find nothing."""
        yield from ()

    def close(self) -> None:
        """Do nothing."""
