"""How long words that were removed stay on the disk.

FTS5 takes words out by writing that they are gone: they stay in older parts of its index until these are merged, which
for a large part may never happen. So all parts are merged once the oldest removal is a day old, step by step.
"""

from __future__ import annotations

from collections.abc import Callable

from directory_indexer.lazy import lazily

with lazily:
    import sqlite3


KEPT_SECONDS = 86_400
"""Of 100,000 chunks, merging takes 0.7 s of processor time: too much for every run that removes a file."""

_STEP_PAGES = 1000
"""Less than half a second of work, and 4 MB in the write-ahead log."""

_REMOVED_AT = "words_removed_at"


def note_removal(connection: sqlite3.Connection, *, now: float) -> None:
    """Remember that words are being removed, unless there were some before that are still on the disk."""
    if _removed_at(connection) is None:
        connection.execute("INSERT INTO meta VALUES (?, ?)", (_REMOVED_AT, str(now)))


def drop_removed(
    connection: sqlite3.Connection, *, now: float, kept_seconds: float, must_stop: Callable[[], bool]
) -> bool:
    """Merge the parts of the full-text index if words were removed so long ago; the next call goes on from a stop.

    Tells whether everything that was removed is gone now.
    """
    removed_at = _removed_at(connection)
    # A clock that was put back must not keep them for years.
    if removed_at is None or 0 <= now - removed_at < kept_seconds:
        return False
    while not must_stop():
        if not _merge_step(connection):
            _forget_removal(connection)
            return True
    return False


def drop_all(connection: sqlite3.Connection) -> None:
    """Merge the full-text index in one step."""
    connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
    _forget_removal(connection)


def _merge_step(connection: sqlite3.Connection) -> bool:
    """Merge so many pages; tell whether there was anything to merge."""
    before = connection.total_changes
    connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (-_STEP_PAGES,))
    # That is how FTS5 tells: what it does costs two changes at least.
    return connection.total_changes - before > 1


def _removed_at(connection: sqlite3.Connection) -> float | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_REMOVED_AT,)).fetchone()
    return None if row is None else float(row[0])


def _forget_removal(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM meta WHERE key = ?", (_REMOVED_AT,))
