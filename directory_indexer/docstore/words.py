"""The full-text index: what FTS5 has of every chunk, and how it is asked."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from directory_indexer.databases.stored_values import mapping_in, parse_stored
from directory_indexer.docstore.kept_words import kept_words
from directory_indexer.docstore.reading import Reading, batches, marks
from directory_indexer.docstore.removed_words import note_removal
from directory_indexer.docstore.schema import FTS_TABLE
from directory_indexer.docstore.texts import unpacked
from directory_indexer.ids import ChunkId
from directory_indexer.paths import FilePath
from directory_indexer.relevance.analyzer import FTS_COLUMNS, FTS_WEIGHTS, HeldWords, index_fields

_ADD_FTS = f"INSERT INTO chunks_fts (rowid, {', '.join(FTS_COLUMNS)}) VALUES (?{', ?' * len(FTS_COLUMNS)})"  # noqa: S608 - made of constants


_DELETE_FTS = _ADD_FTS.replace("(rowid", "(chunks_fts, rowid").replace("(?", "('delete', ?", 1)
"""FTS5 takes a row out of a table that keeps no text when it is given the very values that were put in."""


_FTS_SOURCES = """
    c.id, t.text, c.heading, f.title, f.path, d.path FROM files f JOIN chunks c ON c.file_id = f.id
    JOIN chunk_texts t ON t.id = c.id JOIN directories d ON d.id = f.directory_id
"""


_BM25 = f"bm25(chunks_fts, {', '.join(map(str, FTS_WEIGHTS))})"


MANY_CHUNKS = 20_000
"""From so many on, a copy of their words pays: the words of fewer are read in 0.03 s."""

_SCATTER = 2_654_435_761
"""Brings rows that follow each other far apart (D. Knuth, The Art of Computer Programming 3, 6.4)."""

_PARTS_OF_NEW = 100
_GOOD_PART = 0.1
_AFTER_ALL_LETTERS = chr(0x10FFFF)


class Words(Reading):
    """The full-text index of one moment."""

    def ranked(
        self,
        expression: str,
        *,
        file_ids_json: str | None,
        rows: tuple[int, int] | None = None,
        limit: int,
        one_in: int = 1,
    ) -> list[tuple[ChunkId, float]]:
        """Rank chunks by BM25 for an FTS5 expression, best first; a higher score is better.

        `file_ids_json` is a JSON array of the files that a hit may come from, `rows` the first and the last row of it.
        Of all chunks that match, one in `one_in` is weighed, and always the same ones.
        """
        scope = ""
        arguments: list[object] = [expression]
        if one_in > 1:
            scope = f"AND (rowid * {_SCATTER} >> 16) % ? = 0 "
            arguments.append(one_in)
        if rows is not None:
            scope += "AND rowid BETWEEN ? AND ?"
            arguments.extend(rows)
        if file_ids_json is not None:
            scope += " AND (SELECT file_id FROM chunks WHERE id = chunks_fts.rowid) IN (SELECT value FROM json_each(?))"
            arguments.append(file_ids_json)
        # One row for all of them: after each row, SQLite waits for the interpreter, which another thread may hold.
        (found,) = self._connection.execute(
            f"""SELECT group_concat(printf('%!.17g %d ', m.score, c.id) || hex(c.chunk_id)) FROM (
                    SELECT rowid AS id, -{_BM25} AS score FROM chunks_fts WHERE chunks_fts MATCH ? {scope}
                    ORDER BY score DESC, rowid LIMIT ?
                ) m JOIN chunks c ON c.id = m.id""",  # noqa: S608
            [*arguments, limit],
        ).fetchone()
        matches = [one.split() for one in (found or "").split(",") if one]
        best = sorted((-float(score), int(row), chunk_id) for score, row, chunk_id in matches)
        return [(ChunkId(bytes.fromhex(chunk_id)), -score) for score, _, chunk_id in best]

    def count(self, expression: str) -> int:
        """Tell how many chunks match an FTS5 expression, in a twentieth of the time that ranking them takes."""
        (n_chunks,) = self._connection.execute(
            "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (expression,)
        ).fetchone()
        return int(n_chunks)

    def are_in_files(self, expression: str, n_files: int) -> bool:
        """Whether an FTS5 expression matches chunks of at least so many files; no more of them are read."""
        query = """SELECT DISTINCT c.file_id FROM chunks_fts JOIN chunks c ON c.id = chunks_fts.rowid
            WHERE chunks_fts MATCH ? LIMIT ?"""
        return len(self._connection.execute(query, (expression, n_files)).fetchall()) == n_files

    def matching(self, expression: str, chunk_ids: Iterable[ChunkId]) -> set[ChunkId]:
        """Tell which of these chunks match an FTS5 expression."""
        found: set[ChunkId] = set()
        for batch in batches(chunk_ids):
            rows = self._connection.execute(
                f"""SELECT chunk_id FROM chunks WHERE chunk_id IN ({marks(batch)})
                    AND id IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)""",  # noqa: S608
                [*batch, expression],
            )
            found.update(row[0] for row in rows)
        return found

    @property
    def languages(self) -> tuple[str, ...]:
        """In which languages, by their tags, at least a tenth of the documents is written that are in a known one."""
        return self._once("languages", self._languages)

    def _languages(self) -> tuple[str, ...]:
        counts = self.language_counts()
        few = sum(counts.values()) * _GOOD_PART
        return tuple(language for language, n in counts.items() if n >= few)

    def language_counts(self) -> dict[str, int]:
        """Return the number of documents by tag of their language, the most frequent first."""
        rows = self._connection.execute(
            "SELECT language, count(*) FROM files WHERE language > '' GROUP BY language ORDER BY 2 DESC"
        )
        return dict(rows.fetchall())

    def known(self, terms: Sequence[str]) -> set[str]:
        """Tell which of these words occur, which takes less time than to count them."""
        rows = self._connection.execute(
            """SELECT value FROM json_each(?) WHERE EXISTS
               (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH '"' || value || '"')""",
            (json.dumps(list(terms)),),
        )
        return {term for (term,) in rows}

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Tell in how many chunks each of these words occurs; words that do not occur are left out."""
        rows = self._connection.execute(
            f"SELECT term, doc FROM chunks_vocab WHERE term IN ({marks(terms)})",  # noqa: S608
            list(terms),
        )
        return dict(rows.fetchall())

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        """Give words that begin with `prefix`, in their order, with the number of chunks they occur in."""
        rows = self._connection.execute(
            "SELECT term, doc FROM chunks_vocab WHERE term >= ? AND term < ? LIMIT ?",
            (prefix, prefix + _AFTER_ALL_LETTERS, limit),
        )
        return [(term, n_documents) for term, n_documents in rows]

    def beginning_with(
        self, prefixes: Sequence[str], *, letters: tuple[int, int], holding: Sequence[str] = (), limit: int
    ) -> list[tuple[str, int]]:
        """Give words that begin with any of these and have so many letters, with the number of chunks they occur in.

        Where `holding` is given, each word has one of its parts.
        """
        parts = " OR ".join("instr(v.term, ?)" for _ in holding) or "TRUE"
        rows = self._connection.execute(
            f"""SELECT v.term, v.doc FROM json_each(?) AS prefix CROSS JOIN chunks_vocab AS v
                WHERE v.term >= prefix.value AND v.term < prefix.value || ? AND length(v.term) BETWEEN ? AND ?
                AND ({parts}) LIMIT ?""",  # noqa: S608 - made of constants
            (json.dumps(list(prefixes)), _AFTER_ALL_LETTERS, *letters, *holding, limit),
        )
        return rows.fetchall()

    def holding(self, part: str, *, ends: bool, limit: int) -> HeldWords:
        """Give words that have a part, or end with it, with the number of chunks they occur in."""
        if self.n_chunks >= MANY_CHUNKS and self._meta("index_id"):
            kept = kept_words(
                self._connection,
                fingerprint=self._made_by,
                n_chunks=self.n_chunks,
                most_new=self.n_chunks // _PARTS_OF_NEW,
            )
            return HeldWords(kept.holding(part, ends=ends, limit=limit), kept.last_row)
        rows = self._connection.execute(
            """SELECT term, doc FROM chunks_vocab
               WHERE instr(term, ?1) AND (NOT ?2 OR substr(term, -length(?1)) = ?1) LIMIT ?3""",
            (part, ends, limit),
        )
        return HeldWords(rows.fetchall(), None)

    @property
    def _made_by(self) -> str:
        """Say which index it is, and what cut its texts into words."""
        fingerprint = parse_stored("meta.fingerprint", mapping_in, self._meta("fingerprint") or "{}")
        return f"{self._meta('index_id')} {fingerprint.get('analysis')}"

    def count_rows(self) -> int:
        """Count the rows of the full-text index, which must be as many as there are chunks."""
        return self._count("SELECT count(*) FROM chunks_fts_docsize")

    def read_through(self) -> None:
        """Read the full-text index through: where it is damaged, an error says so."""
        self._count("SELECT count(*) FROM chunks_vocab")


class WordWrites:
    """Put chunks into the full-text index and take them out."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, rows: Iterable[FtsSource]) -> None:
        """Index chunks."""
        self._connection.executemany(_ADD_FTS, map(_fts_row, rows))

    def sources_of(self, path: FilePath) -> list[FtsSource]:
        """Read again what the chunks of a file were indexed with."""
        rows = self._connection.execute(f"SELECT {_FTS_SOURCES} WHERE f.path = ?", (path,))
        return [_stored_source(row) for row in rows]

    def remove(self, sources: Sequence[FtsSource]) -> None:
        """Take chunks out, with the very values that they came with."""
        note_removal(self._connection, now=time.time())
        self._connection.executemany(_DELETE_FTS, map(_fts_row, sources))

    def check(self) -> None:
        """Let FTS5 check the full-text index: where it is damaged, an error says so."""
        self._connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check')")

    def rebuild(self) -> None:
        """Compute the full-text index again from the texts."""
        self._connection.execute("DROP TABLE chunks_fts")
        self._connection.execute(FTS_TABLE)
        rows = self._connection.execute(f"SELECT {_FTS_SOURCES} ORDER BY c.id")
        self.add(map(_stored_source, rows))
        # A query looks up every word in every segment of the index, so they are merged into one.
        self._connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")


class FtsSource(NamedTuple):
    """What a chunk is indexed with: its text, its heading, and the title and path of its file below a directory."""

    id: int
    text: str
    heading: str
    title: str
    path: str
    directory: str


def _stored_source(row: Sequence[object]) -> FtsSource:
    id_, stored, *rest = row
    return FtsSource(id_, unpacked(stored), *rest)  # type: ignore[arg-type]  # the columns stand in the order of the fields


def _fts_row(source: FtsSource) -> tuple[object, ...]:
    below = source.path[len(source.directory) :].lstrip(os.sep)
    return (source.id, *index_fields(text=source.text, heading=source.heading, title=source.title, path=below))
