"""Keeps tracked directories fresh: changes that the file system reports become index runs."""

from __future__ import annotations

import os
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
    except_below: str = "",
) -> None:
    """Call `update` with the directories in which something changed, until there is a reason to stop.

    What happens `except_below` a directory is no change: each run writes to the index, which may lie in a root.
    """
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
        changed = [path for _, path in batch if not (except_below and _lies_in(path, except_below))]
        touched = [root for path, root in paths.items() if any(_lies_in(one, path) for one in changed)]
        if touched:
            update(touched)


def _lies_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
