"""Whether a file is still what the index holds, by its stamp alone."""

from __future__ import annotations

from directory_indexer.docstore.store import Snapshot
from directory_indexer.files import source_file
from directory_indexer.paths import FilePath
from directory_indexer.searching.answers import OnDisk
from directory_indexer.walker.git_history import is_history


def since_indexed(snapshot: Snapshot, path: FilePath) -> OnDisk | None:
    """Tell what became of a file, if anything; a member is what it was while its container is.

    What cannot be looked at counts as changed.
    """
    path = snapshot.files.container_of(path) or path
    if not snapshot.is_here:
        return None
    if is_history(path):
        return None  # a commit never changes, and goes with the next run when nothing leads to it any more
    known = snapshot.files.get(path)
    try:
        now = source_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return OnDisk.GONE
    except OSError:
        return OnDisk.CHANGED
    is_same = known is not None and (now.size, now.mtime_ns) == (known.source.size, known.source.mtime_ns)
    return None if is_same else OnDisk.CHANGED
