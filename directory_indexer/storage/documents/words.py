"""The FTS5 full-text index: its queries and writes, its vocabulary, and compression of the texts of chunks.

The texts are the largest values of the database.

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
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.kept_files import replace_file
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.analyzer import FTS_COLUMNS, FTS_WEIGHTS, WordsWithPart, index_fields
from directory_indexer.storage.databases.stored_values import DamagedValueError, parse_mapping, parse_stored
from directory_indexer.storage.documents import SnapshotQueries, TableWrites, placeholders
from directory_indexer.storage.documents.files import within_condition
from directory_indexer.storage.documents.schema import FTS_TABLE

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

    def containing(self, part: str, *, ends: bool, limit: int) -> list[tuple[str, int]]:
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


_INSERT_FTS = f"INSERT INTO chunks_fts (rowid, {', '.join(FTS_COLUMNS)}) VALUES (?{', ?' * len(FTS_COLUMNS)})"  # noqa: S608 - made of constants

_DELETE_FTS = _INSERT_FTS.replace("(rowid", "(chunks_fts, rowid").replace("(?", "('delete', ?", 1)
"""FTS5 deletes a row of a contentless table only when it is given the very values that were inserted."""

_FTS_SOURCES = """
    c.id, t.text, c.heading, f.title, f.path, d.path FROM files f JOIN chunks c ON c.file_id = f.id
    JOIN chunk_texts t ON t.id = c.id JOIN directories d ON d.id = f.directory_id
"""

_BM25 = f"bm25(chunks_fts, {', '.join(map(str, FTS_WEIGHTS))})"

MANY_CHUNKS = 20_000
"""From this many chunks on, the vocabulary cache pays off: the words of fewer are read in 0.03 s."""

_SAMPLING_MULTIPLIER = 2_654_435_761
"""Scatters consecutive rows (D. Knuth, The Art of Computer Programming 3, 6.4)."""

_SEPARATORS = "/\\"
_MAX_NEW_FRACTION = 100
_MIN_LANGUAGE_SHARE = 0.1
_LAST_CHARACTER = chr(0x10FFFF)
_MAX_RECENT_PREFIXES = 500
_MAX_RECENT_WORDS = 100
_MAX_RECENT_COUNTS = 10_000


class Words(SnapshotQueries):
    """The full-text index of one snapshot."""

    def ranked(
        self,
        expression: str,
        *,
        file_ids_json: str | None,
        rows: tuple[int, int] | None = None,
        limit: int,
        one_in: int = 1,
    ) -> list[tuple[ChunkId, float]]:
        """Return the chunks that match an FTS5 expression with their BM25 scores, best first.

        `file_ids_json` is a JSON array of the files that a hit may come from, `rows` the range of their rows.
        Of all matching chunks, a fixed sample of one in `one_in` is scored.
        """
        scope = ""
        arguments: list[object] = [expression]
        if one_in > 1:
            scope = f"AND (rowid * {_SAMPLING_MULTIPLIER} >> 16) % ? = 0 "
            arguments.append(one_in)
        if rows is not None:
            scope += "AND rowid BETWEEN ? AND ?"
            arguments.extend(rows)
        if file_ids_json is not None:
            scope += " AND (SELECT file_id FROM chunks WHERE id = chunks_fts.rowid) IN (SELECT value FROM json_each(?))"
            arguments.append(file_ids_json)
        # All results in one row: after each row, SQLite waits for the interpreter lock, which another thread may hold.
        (joined,) = self._connection.execute(
            f"""SELECT group_concat(printf('%!.17g %d ', m.score, c.id) || hex(c.chunk_id)) FROM (
                    SELECT rowid AS id, -{_BM25} AS score FROM chunks_fts WHERE chunks_fts MATCH ? {scope}
                    ORDER BY score DESC, rowid LIMIT ?
                ) m JOIN chunks c ON c.id = m.id""",  # noqa: S608
            [*arguments, limit],
        ).fetchone()
        matches = [entry.split() for entry in (joined or "").split(",") if entry]
        best = sorted((-float(score), int(row), chunk_id) for score, row, chunk_id in matches)
        return [(ChunkId(bytes.fromhex(chunk_id)), -score) for score, _, chunk_id in best]

    def count(self, expression: str) -> int:
        """Count the chunks that match an FTS5 expression, in a twentieth of the time that ranking them takes."""
        return self._count("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", [expression])

    def are_in_files(self, expression: str, n_files: int) -> bool:
        """Whether an FTS5 expression matches chunks of at least `n_files` files; no more of them are read."""
        query = """SELECT DISTINCT c.file_id FROM chunks_fts JOIN chunks c ON c.id = chunks_fts.rowid
            WHERE chunks_fts MATCH ? LIMIT ?"""
        return len(self._values(query, expression, n_files)) == n_files

    def matching(self, expression: str, chunk_ids: Iterable[ChunkId]) -> set[ChunkId]:
        """Return which of these chunks match an FTS5 expression."""
        query = """SELECT chunk_id FROM chunks WHERE chunk_id IN ({})
            AND id IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)"""
        return {chunk_id for (chunk_id,) in self._rows_for(query, chunk_ids, expression)}

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages, by tag, of at least a tenth of the documents with a known language."""
        return self._compute_once("languages", self._languages)

    def _languages(self) -> tuple[str, ...]:
        counts = self.language_counts()
        few = sum(counts.values()) * _MIN_LANGUAGE_SHARE
        return tuple(language for language, n in counts.items() if n >= few)

    def language_counts(self, within: Sequence[FilePath] = ()) -> dict[str, int]:
        """Return the number of documents by language tag, most frequent first; `within` limits them to directories."""
        conditions = [within_condition(path) for path in within or (None,)]
        places = " OR ".join(clause for clause, _ in conditions)
        query = f"""SELECT language, count(*) FROM files f WHERE language > '' AND ({places})
            GROUP BY language ORDER BY 2 DESC"""  # noqa: S608 - made of constants
        return dict(self._select(query, *(value for _, values in conditions for value in values)).fetchall())

    def known(self, terms: Sequence[str]) -> set[str]:
        """Return which of these words occur, which is faster than counting them."""
        query = """SELECT value, 1 FROM json_each(?) WHERE EXISTS
            (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH '"' || value || '"')"""
        return {*self._recent("known_words", terms, lambda new: self._select(query, json.dumps(new)))}

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of chunks that contain each of these words; words that do not occur are omitted."""

        def count(new: list[str]) -> Iterable[tuple[str, int]]:
            query = f"SELECT term, doc FROM chunks_vocab WHERE term IN ({placeholders(new)})"  # noqa: S608
            return self._select(query, *new)

        return self._recent("counted_words", terms, count)

    def _recent(
        self, name: str, terms: Sequence[str], look_up: Callable[[list[str]], Iterable[tuple[str, int]]]
    ) -> dict[str, int]:
        """Look up a number for each word, and omit zeros; with each key, the words before the last one come again."""
        recent: dict[str, int] = self._compute_once(name, dict)
        numbers = {term: n for term in terms if (n := recent.get(term)) is not None}
        if new := [term for term in terms if term not in numbers]:
            looked_up = dict(look_up(new))
            numbers |= {term: looked_up.get(term, 0) for term in new}
            if len(recent) >= _MAX_RECENT_COUNTS:
                recent.clear()
            recent.update(numbers)
        return {term: n for term, n in numbers.items() if n}

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        """Return words that begin with `prefix`, sorted, with the number of chunks that contain them."""
        recent: dict[tuple[str, int], list[tuple[str, int]]] = self._compute_once("recent_prefixes", dict)
        if (words := recent.get((prefix, limit))) is None:
            query = "SELECT term, doc FROM chunks_vocab WHERE term >= ? AND term < ? LIMIT ?"
            words = self._select(query, prefix, prefix + _LAST_CHARACTER, limit).fetchall()
            if len(recent) >= _MAX_RECENT_PREFIXES:
                recent.clear()
            if len(words) <= _MAX_RECENT_WORDS:
                recent[prefix, limit] = words
        return words

    def beginning_with(
        self, prefixes: Sequence[str], *, letters: tuple[int, int], containing: Sequence[str] = (), limit: int
    ) -> list[tuple[str, int]]:
        """Return words that begin with any of these, within a range of lengths, and the number of chunks with them.

        With `containing`, each word contains one of its parts.
        """
        parts = " OR ".join("instr(v.term, ?)" for _ in containing) or "TRUE"
        query = f"""SELECT v.term, v.doc FROM json_each(?) AS prefix CROSS JOIN chunks_vocab AS v
            WHERE v.term >= prefix.value AND v.term < prefix.value || ? AND length(v.term) BETWEEN ? AND ?
            AND ({parts}) LIMIT ?"""  # noqa: S608 - made of constants
        arguments = (json.dumps(list(prefixes)), _LAST_CHARACTER, *letters, *containing, limit)
        return self._select(query, *arguments).fetchall()

    def containing(self, part: str, *, ends: bool, limit: int) -> WordsWithPart:
        """Return words that contain a part, or end with it, with the number of chunks that contain them."""
        if self.n_chunks >= MANY_CHUNKS and self._meta("index_id"):
            vocabulary = cached_vocabulary(
                self._connection,
                fingerprint=self._vocabulary_fingerprint,
                n_chunks=self.n_chunks,
                most_new=self.n_chunks // _MAX_NEW_FRACTION,
            )
            return WordsWithPart(vocabulary.containing(part, ends=ends, limit=limit), vocabulary.last_row)
        all_words = CachedVocabulary(0, self._compute_once("words", self._all_words))
        return WordsWithPart(all_words.containing(part, ends=ends, limit=limit), None)

    def _all_words(self) -> bytes:
        query = "SELECT group_concat(term || char(9) || doc, char(10)) FROM chunks_vocab"
        return f"{self._select(query).fetchone()[0]}\n".encode()

    @property
    def _vocabulary_fingerprint(self) -> str:
        """An identifier of the index and of its tokenizer."""
        fingerprint = parse_stored("meta.fingerprint", parse_mapping, self._meta("fingerprint") or "{}")
        return f"{self._meta('index_id')} {fingerprint.get('analysis')}"

    def count_rows(self) -> int:
        """Count the rows of the full-text index, which must equal the number of chunks."""
        return self._count("SELECT count(*) FROM chunks_fts_docsize")

    def require_readable(self) -> None:
        """Read the whole full-text index to find damage, which raises an error."""
        self._count("SELECT count(*) FROM chunks_vocab")


class WordWrites(TableWrites):
    """Writes to the full-text index."""

    def add(self, rows: Iterable[FtsSource]) -> None:
        """Index chunks."""
        self._connection.executemany(_INSERT_FTS, map(_fts_row, rows))

    def sources_of(self, path: FilePath) -> list[FtsSource]:
        """Return the values that the chunks of a file were indexed with."""
        rows = self._execute(f"SELECT {_FTS_SOURCES} WHERE f.path = ?", path)
        return [_stored_source(row) for row in rows]

    def remove(self, sources: Sequence[FtsSource]) -> None:
        """Delete chunks, with the very values that they were inserted with."""
        record_removal(self._connection, now=time.time())
        self._connection.executemany(_DELETE_FTS, map(_fts_row, sources))

    def check(self) -> None:
        """Run FTS5's integrity check; damage raises an error."""
        self._execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check')")

    def rebuild(self) -> None:
        """Rebuild the full-text index from the texts."""
        self._execute("DROP TABLE chunks_fts")
        self._execute(FTS_TABLE)
        rows = self._execute(f"SELECT {_FTS_SOURCES} ORDER BY c.id")
        self.add(map(_stored_source, rows))
        # A query looks up every word in every segment of the index, so they are merged into one.
        self._execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")


class FtsSource(NamedTuple):
    """The indexed fields of a chunk: its text, its heading, and the title and relative path of its file."""

    id: int
    text: str
    heading: str
    title: str
    path: str
    directory: str


def compress_text(text: str) -> bytes:
    """Return the compressed text: less than half the size for prose and code, in 20 µs."""
    return zlib.compress(text.encode())


def decompress_text(stored: bytes | str) -> str:
    """Return the text of a stored value, in 5 µs; older versions stored texts uncompressed.

    Raises:
        zlib.error: the row is damaged.
    """
    return stored if isinstance(stored, str) else zlib.decompress(stored).decode()


def _stored_source(row: Sequence[object]) -> FtsSource:
    id_, stored, *rest = row
    return FtsSource(id_, decompress_text(stored), *rest)  # type: ignore[arg-type]  # the columns are in the order of the fields


def _fts_row(source: FtsSource) -> tuple[object, ...]:
    path, directory = source.path, source.directory
    below = path[len(directory) :]
    # A row must be deleted with the very words that it was inserted with; the index may be of another system.
    if not path.startswith(directory) or (directory[-1:] not in _SEPARATORS and below[:1] not in _SEPARATORS):
        raise DamagedValueError("files.path")
    below = below.lstrip(os.sep)
    return (source.id, *index_fields(text=source.text, heading=source.heading, title=source.title, path=below))
