"""Keeps tracked directories fresh: changes that the file system reports become index runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import watchfiles

from directory_indexer.records import os_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from directory_indexer.records import FilePath, Outcome

_QUIET_MS = 500
"""Changes are gathered until none came for so long: an editor that replaces a file makes several."""

_LONGEST_MS = 5000


def watch(
    roots: Sequence[FilePath],
    update: Callable[[Sequence[FilePath]], None],
    *,
    stop_reason: Callable[[], Outcome | None],
) -> None:
    """Call `update` with the directories in which something changed, until there is a reason to stop."""
    stopped = threading.Event()
    paths = {os_path(root): root for root in roots}
    changes = watchfiles.watch(
        *paths,
        debounce=_LONGEST_MS,
        step=_QUIET_MS,
        stop_event=stopped,
        yield_on_timeout=True,
        rust_timeout=_QUIET_MS,
        raise_interrupt=False,
    )
    for batch in changes:
        if stop_reason() is not None:
            stopped.set()
            return
        touched = [root for path, root in paths.items() if any(changed.startswith(path) for _, changed in batch)]
        if touched:
            update(touched)
