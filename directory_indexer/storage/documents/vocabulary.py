"""Vocabulary of the full-text index: a cache for searches by part of a word, and retention of removed words.

FTS5 can list its words only by reading every position: a second of processor time for half a million chunks. The cache
is a file beside the database, with the words of the chunks up to a row. Later chunks may add any word, and words of
removed chunks do no harm. A search for a part of a word writes the file if it is missing or too many chunks were added
since. If it cannot be written, results are the same, but slower.

FTS5 removes words by writing a tombstone: they stay in older segments until these are merged, which for a large segment
may never happen. So all segments are merged, step by step, once the oldest removal is a day old.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.core.durable_files import replace_file
from directory_indexer.core.lazy import lazily
from directory_indexer.storage.databases.stored_values import parse_stored

with lazily:
    import glob
    import sqlite3

VOCABULARY_SUFFIX: Final = "-words"
"""The suffix added to the name of the database, as for its log."""

_MAX_ANCHOR_DISTANCE: Final = 10_000

RETENTION_SECONDS = 86_400
"""Merging 100,000 chunks takes 0.7 s of processor time: too much for every run that removes a file."""

_STEP_PAGES = 1000
"""Less than half a second of work, and 4 MB in the write-ahead log."""

_REMOVED_AT_KEY = "words_removed_at"
_N_PURGES_KEY = "words_drops"


class VocabularyAnchor(NamedTuple):
    """One of the last chunks, by row and id: it identifies the index that the file belongs to."""

    row: int
    chunk_id: str


class CachedVocabulary(NamedTuple):
    """The words of all chunks up to a row, each on a line with the number of chunks that contain it."""

    last_row: int
    lines: bytes

    def holding(self, part: str, *, ends: bool, limit: int) -> list[tuple[str, int]]:
        """Return words that contain a part, or end with it, with the number of chunks that contain them."""
        words: list[tuple[str, int]] = []
        encoded, at = part.encode(), 0
        while len(words) < limit and (at := self.lines.find(encoded, at)) >= 0:
            start, end = self.lines.rfind(b"\n", 0, at) + 1, self.lines.find(b"\n", at)
            if end < 0:
                break
            word, sign, count = self.lines[start:end].decode().rpartition("\t")
            if sign and (word.endswith(part) if ends else part in word):
                words.append((word, int(count)))
            at = end + 1
        return words


def cached_vocabulary(
    connection: sqlite3.Connection, *, fingerprint: str, n_chunks: int, most_new: int
) -> CachedVocabulary:
    """Read the file, or write it again if more than `most_new` chunks were added since.

    `fingerprint` identifies the index and its tokenizer.
    """
    file = _cache_path(Path(connection.execute("PRAGMA database_list").fetchone()[2]))
    with contextlib.suppress(OSError, ValueError, TypeError, RecursionError, OverflowError):
        header, _, lines = _read_cache(file).partition(b"\n")
        made_by, last_row, n_known, n_bytes, *anchors = json.loads(header)
        (n_new,) = connection.execute("SELECT count(*) FROM chunks WHERE id > ?", (last_row,)).fetchone()
        # Rows are not reused, so the number of chunks up to a row can only shrink.
        is_whole = (
            made_by == fingerprint and n_bytes == len(lines) and n_new <= most_new and n_chunks - n_new <= n_known
        )
        if is_whole and any(_anchor_exists(connection, VocabularyAnchor(*anchor)) for anchor in anchors):
            return CachedVocabulary(last_row, lines)
    return _build_cache(connection, file, fingerprint, n_chunks)


def remove_cached_vocabulary(database: Path) -> None:
    """Remove the file and drafts of killed processes: both may contain words that were removed."""
    file = _cache_path(database)
    for path in (file, *file.parent.glob(f"{glob.escape(file.name)}.*")):
        path.unlink(missing_ok=True)


def record_removal(connection: sqlite3.Connection, *, now: float) -> None:
    """Store the time of the first removal since the segments were merged."""
    if _removed_at(connection) is None:
        connection.execute("INSERT INTO meta VALUES (?, ?)", (_REMOVED_AT_KEY, str(now)))


def purge_removed_words(
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


def purge_all_words(connection: sqlite3.Connection) -> None:
    """Merge the full-text index in one step."""
    connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
    _forget_removal(connection)


def count_purges(connection: sqlite3.Connection) -> int:
    """Return how often removed words were purged."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_N_PURGES_KEY,)).fetchone()
    return 0 if row is None else parse_stored("meta.words_drops", int, row[0])


def _cache_path(database: Path) -> Path:
    return database.with_name(database.name + VOCABULARY_SUFFIX)


def _read_cache(file: Path) -> bytes:
    # In a directory shared by a group, a member may have put anything there: opening a pipe would block.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(file, flags), "rb") as opened:
        return opened.read() if stat.S_ISREG(os.fstat(opened.fileno()).st_mode) else b""


def _anchor_exists(connection: sqlite3.Connection, anchor: VocabularyAnchor) -> bool:
    row = connection.execute("SELECT hex(chunk_id) FROM chunks WHERE id = ?", (anchor.row,)).fetchone()
    return bool(row == (anchor.chunk_id,))


def _build_cache(connection: sqlite3.Connection, file: Path, fingerprint: str, n_chunks: int) -> CachedVocabulary:
    anchors = list(_anchors(connection, n_chunks))
    last_row = anchors[0].row if anchors else 0
    rows = connection.execute("SELECT term, doc FROM chunks_vocab WHERE term IS NOT NULL")
    lines = "".join(f"{term}\t{n_chunks}\n" for term, n_chunks in rows).encode()
    with contextlib.suppress(OSError):
        replace_file(file, json.dumps([fingerprint, last_row, n_chunks, len(lines), *anchors]).encode() + b"\n" + lines)
        if _was_purged_meanwhile(connection):
            file.unlink(missing_ok=True)
    return CachedVocabulary(last_row, lines)


def _was_purged_meanwhile(connection: sqlite3.Connection) -> bool:
    """Whether words were removed for good after the snapshot of a connection, which may still contain them."""
    database = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    try:
        with contextlib.closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as current:
            return count_purges(current) != count_purges(connection)
    except sqlite3.Error:  # unknown, so the file is not kept
        return True


def _anchors(connection: sqlite3.Connection, n_chunks: int) -> Iterator[VocabularyAnchor]:
    """Yield the last chunk, and earlier ones at doubling distances: the latest chunks are the next to change."""
    n_after = 0
    while n_after < min(n_chunks, _MAX_ANCHOR_DISTANCE):
        row = connection.execute(
            "SELECT id, hex(chunk_id) FROM chunks ORDER BY id DESC LIMIT 1 OFFSET ?", (n_after,)
        ).fetchone()
        yield VocabularyAnchor(*row)
        n_after = 2 * n_after + 1


def _merge_step(connection: sqlite3.Connection) -> bool:
    """Merge `_STEP_PAGES` pages; return whether there was anything to merge."""
    before = connection.total_changes
    connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (-_STEP_PAGES,))
    # FTS5 reports work as at least two changes.
    return connection.total_changes - before > 1


def _removed_at(connection: sqlite3.Connection) -> float | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_REMOVED_AT_KEY,)).fetchone()
    return None if row is None else parse_stored("meta.words_removed_at", float, row[0])


def _forget_removal(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_N_PURGES_KEY, str(count_purges(connection) + 1)))
    connection.execute("DELETE FROM meta WHERE key = ?", (_REMOVED_AT_KEY,))
