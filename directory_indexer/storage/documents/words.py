"""Queries and writes of the FTS5 full-text index, and compression of the texts of chunks.

The texts are the largest values of the database.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.analyzer import FTS_COLUMNS, FTS_WEIGHTS, WordsWithPart, index_fields
from directory_indexer.storage.databases.stored_values import parse_mapping, parse_stored
from directory_indexer.storage.documents.queries import SnapshotQueries, TableWrites, placeholders
from directory_indexer.storage.documents.schema import FTS_TABLE
from directory_indexer.storage.documents.vocabulary import CachedVocabulary, cached_vocabulary, record_removal

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

_MAX_NEW_FRACTION = 100
_MIN_LANGUAGE_SHARE = 0.1
_LAST_CHARACTER = chr(0x10FFFF)
_MAX_RECENT_PREFIXES = 500
_MAX_RECENT_WORDS = 100


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

    def language_counts(self) -> dict[str, int]:
        """Return the number of documents by language tag, most frequent first."""
        query = "SELECT language, count(*) FROM files WHERE language > '' GROUP BY language ORDER BY 2 DESC"
        return dict(self._select(query).fetchall())

    def known(self, terms: Sequence[str]) -> set[str]:
        """Return which of these words occur, which is faster than counting them."""
        query = """SELECT value FROM json_each(?) WHERE EXISTS
            (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH '"' || value || '"')"""
        return set(self._values(query, json.dumps(list(terms))))

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of chunks that contain each of these words; words that do not occur are omitted."""
        query = f"SELECT term, doc FROM chunks_vocab WHERE term IN ({placeholders(terms)})"  # noqa: S608
        return dict(self._select(query, *terms).fetchall())

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
        self, prefixes: Sequence[str], *, letters: tuple[int, int], holding: Sequence[str] = (), limit: int
    ) -> list[tuple[str, int]]:
        """Return words that begin with any of these, within a range of lengths, and the number of chunks with them.

        With `holding`, each word contains one of its parts.
        """
        parts = " OR ".join("instr(v.term, ?)" for _ in holding) or "TRUE"
        query = f"""SELECT v.term, v.doc FROM json_each(?) AS prefix CROSS JOIN chunks_vocab AS v
            WHERE v.term >= prefix.value AND v.term < prefix.value || ? AND length(v.term) BETWEEN ? AND ?
            AND ({parts}) LIMIT ?"""  # noqa: S608 - made of constants
        arguments = (json.dumps(list(prefixes)), _LAST_CHARACTER, *letters, *holding, limit)
        return self._select(query, *arguments).fetchall()

    def holding(self, part: str, *, ends: bool, limit: int) -> WordsWithPart:
        """Return words that contain a part, or end with it, with the number of chunks that contain them."""
        if self.n_chunks >= MANY_CHUNKS and self._meta("index_id"):
            vocabulary = cached_vocabulary(
                self._connection,
                fingerprint=self._vocabulary_fingerprint,
                n_chunks=self.n_chunks,
                most_new=self.n_chunks // _MAX_NEW_FRACTION,
            )
            return WordsWithPart(vocabulary.holding(part, ends=ends, limit=limit), vocabulary.last_row)
        all_words = CachedVocabulary(0, self._compute_once("words", self._all_words))
        return WordsWithPart(all_words.holding(part, ends=ends, limit=limit), None)

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

    def read_through(self) -> None:
        """Read the whole full-text index; damage raises an error."""
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
    below = source.path[len(source.directory) :].lstrip(os.sep)
    return (source.id, *index_fields(text=source.text, heading=source.heading, title=source.title, path=below))
