"""Comparison of a file with its state in the index, by size and modification time alone."""

from __future__ import annotations

from directory_indexer.docstore.store import Snapshot
from directory_indexer.files import source_file
from directory_indexer.paths import FilePath
from directory_indexer.searching.answers import OnDisk
from directory_indexer.walker.git_history import is_history


def since_indexed(snapshot: Snapshot, path: FilePath) -> OnDisk | None:
    """Return the change of a file since it was indexed, if any; that of a member is that of its container.

    A file that cannot be read counts as changed.
    """
    path = snapshot.files.container_of(path) or path
    if not snapshot.is_here:
        return None
    if is_history(path):
        return None  # a commit never changes; the next run removes it when it is unreachable
    known = snapshot.files.get(path)
    try:
        current = source_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return OnDisk.GONE
    except OSError:
        return OnDisk.CHANGED
    is_same = known is not None and (current.size, current.mtime_ns) == (known.source.size, known.source.mtime_ns)
    return None if is_same else OnDisk.CHANGED
