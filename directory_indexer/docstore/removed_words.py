"""Retention of removed words in the full-text index.

FTS5 removes words by writing a tombstone: they stay in older segments until these are merged, which for a large segment
may never happen. So all segments are merged, step by step, once the oldest removal is a day old.
"""

from __future__ import annotations

from collections.abc import Callable

from directory_indexer.databases.stored_values import parse_stored
from directory_indexer.lazy import lazily

with lazily:
    import sqlite3


KEPT_SECONDS = 86_400
"""Merging 100,000 chunks takes 0.7 s of processor time: too much for every run that removes a file."""

_STEP_PAGES = 1000
"""Less than half a second of work, and 4 MB in the write-ahead log."""

_REMOVED_AT = "words_removed_at"
_N_DROPS = "words_drops"


def note_removal(connection: sqlite3.Connection, *, now: float) -> None:
    """Store the time of the first removal since the segments were merged."""
    if _removed_at(connection) is None:
        connection.execute("INSERT INTO meta VALUES (?, ?)", (_REMOVED_AT, str(now)))


def drop_removed(
    connection: sqlite3.Connection,
    *,
    now: float,
    kept_seconds: float,
    must_stop: Callable[[], bool],
    forget_words: Callable[[], None],
) -> None:
    """Merge the segments of the full-text index if the oldest removal is old enough; resumable after a stop.

    `forget_words` removes the vocabulary cache, both before and after the removal is recorded as done.
    """
    removed_at = _removed_at(connection)
    # A clock that was set back must not keep them for years.
    if removed_at is None or 0 <= now - removed_at < kept_seconds:
        return
    while not must_stop():
        if not _merge_step(connection):
            forget_words()  # a kill after the next line must leave nothing
            _forget_removal(connection)
            forget_words()
            return


def drop_all(connection: sqlite3.Connection) -> None:
    """Merge the full-text index in one step."""
    connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
    _forget_removal(connection)


def _merge_step(connection: sqlite3.Connection) -> bool:
    """Merge `_STEP_PAGES` pages; return whether there was anything to merge."""
    before = connection.total_changes
    connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (-_STEP_PAGES,))
    # FTS5 reports work as at least two changes.
    return connection.total_changes - before > 1


def _removed_at(connection: sqlite3.Connection) -> float | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_REMOVED_AT,)).fetchone()
    return None if row is None else parse_stored("meta.words_removed_at", float, row[0])


def n_drops(connection: sqlite3.Connection) -> int:
    """Return how often removed words were purged."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_N_DROPS,)).fetchone()
    return 0 if row is None else parse_stored("meta.words_drops", int, row[0])


def _forget_removal(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_N_DROPS, str(n_drops(connection) + 1)))
    connection.execute("DELETE FROM meta WHERE key = ?", (_REMOVED_AT,))
