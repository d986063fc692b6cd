"""Marker of the system's limit of file watches, visible to every process.

A process that has reached it holds the lock of a file beside the database meanwhile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from directory_indexer.core.lock import is_locked

NAME: Final = "watch.limited"
MESSAGE: Final = "the system allows no more watches: changes in some directories take a minute or more to come in"
HINT: Final = "sysctl fs.inotify.max_user_watches and fs.inotify.max_user_instances show the limits, and raise them"


def limit_path(database: Path) -> Path:
    """Return the file whose lock is held while the limit is reached."""
    return database.with_name(NAME)


def is_limited(database: Path) -> bool:
    """Whether a process can watch only a part of the directories of an index."""
    return is_locked(limit_path(database))
