"""Questions to one moment of the index."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence

from directory_indexer.docstore.known import KNOWN_COLUMNS, KnownFile, KnownFiles, known_by_path
from directory_indexer.docstore.reading import (
    CHUNK_COLUMNS,
    CHUNK_TABLES,
    IndexedChunk,
    Reading,
    batches,
    indexed_chunk,
    marks,
    within_condition,
)
from directory_indexer.docstore.runs import Outcome, Phase, RunProgress, RunRecord, Verb
from directory_indexer.docstore.summaries import DirectoryStatus, IndexSummary
from directory_indexer.docstore.vectors import KnownVectors
from directory_indexer.files import FileFailure, SkippedFile, SkipReason, Stage
from directory_indexer.ids import ChunkId, chunk_id_bytes, chunk_id_from_bytes
from directory_indexer.paths import FilePath, os_path
from directory_indexer.relevance.analyzer import FTS_WEIGHTS

_BM25 = f"bm25(chunks_fts, {', '.join(map(str, FTS_WEIGHTS))})"

_READ_BY_SEARCHES = (
    "chunks INDEXED BY sqlite_autoindex_chunks_1",
    "chunks NOT INDEXED WHERE heading IS NOT NULL",
    "chunk_texts WHERE text IS NOT NULL",
    "chunks_fts_data WHERE block IS NOT NULL",
    "chunks_fts_docsize WHERE sz IS NOT NULL",
    "files NOT INDEXED WHERE title IS NOT NULL",
)


class Snapshot(Reading):
    """One moment of the index; every method reads the same state."""

    def __init__(self, connection: sqlite3.Connection, known: dict[str, object]) -> None:
        super().__init__(connection, known)
        self.vectors = KnownVectors(connection, known)

    # Directories and files

    def directories(self) -> dict[FilePath, int]:
        """List the tracked directories with their ids, sorted by path."""

        def read() -> dict[FilePath, int]:
            rows = self._connection.execute("SELECT path, id FROM directories ORDER BY path")
            return {FilePath(row[0]): row[1] for row in rows}

        return self._once("directories", read)

    def mounts(self, directory_id: int) -> dict[FilePath, str]:
        """Name the file system that a tracked directory lay on when it was last read, and those that began in it."""
        row = self._connection.execute("SELECT mounts FROM directories WHERE id = ?", (directory_id,)).fetchone()
        found = json.loads(row[0])
        # Up to schema 5 it is a list of places.
        return found if isinstance(found, dict) else dict.fromkeys(found, "")

    def known(self, directory_id: int | None, *, recipe: int) -> KnownFiles:
        """Prepare a comparison with what is known of the files of a tracked directory, extracted in a certain way."""
        return KnownFiles(self._connection, directory_id, recipe=recipe)

    def known_files_within(self, path: FilePath) -> dict[FilePath, KnownFile]:
        """Load what is known of a file, or of everything below a directory."""
        condition, arguments = within_condition(path)
        rows = self._connection.execute(
            f"SELECT {KNOWN_COLUMNS} FROM files f WHERE {condition}",  # noqa: S608
            arguments,
        )
        return known_by_path(rows)

    def known_file(self, path: FilePath) -> KnownFile | None:
        """Look up one file; None when the index has not met it."""
        rows = self._connection.execute(f"SELECT {KNOWN_COLUMNS} FROM files WHERE path = ?", (path,))  # noqa: S608
        return known_by_path(rows).get(path)

    def page_starts(self, path: FilePath) -> tuple[int, ...]:
        """Give the character at which each page of a file begins; empty when it has no pages."""
        row = self._connection.execute("SELECT page_starts FROM files WHERE path = ?", (path,)).fetchone()
        return tuple(map(int, row[0].split())) if row else ()

    def holds(self, path: FilePath) -> bool:
        """Tell whether a path is tracked, or lies in or around what is."""
        condition, arguments = within_condition(path)
        query = f"SELECT EXISTS (SELECT 1 FROM files f WHERE {condition})"  # noqa: S608 - made of constants
        return bool(self._count(query, arguments)) or path in self.directories()

    def files_in_scope(self, condition: str, arguments: Sequence[object]) -> list[tuple[int, FilePath]]:
        """List id and path of the files with text for which an SQL condition over `files f` holds."""
        rows = self._connection.execute(f"SELECT f.id, f.path FROM files f WHERE {condition}", arguments)  # noqa: S608 - the condition is made of constants
        return [(file_id, FilePath(path)) for file_id, path in rows]

    # Chunks

    def chunks_of(self, path: FilePath) -> list[IndexedChunk]:
        """Give all chunks of a file in their order; empty when the file has no text in the index."""
        rows = self._connection.execute(
            f"SELECT {CHUNK_COLUMNS} FROM {CHUNK_TABLES} WHERE f.path = ? ORDER BY c.ordinal",  # noqa: S608
            (path,),
        )
        return [indexed_chunk(row) for row in rows]

    def chunks(self, chunk_ids: Iterable[ChunkId]) -> dict[ChunkId, IndexedChunk]:
        """Give those of the chunks that exist now; the others belong to texts that are gone."""
        found: dict[ChunkId, IndexedChunk] = {}
        for batch in batches([chunk_id_bytes(chunk_id) for chunk_id in chunk_ids]):
            rows = self._connection.execute(
                f"SELECT {CHUNK_COLUMNS} FROM {CHUNK_TABLES} WHERE c.chunk_id IN ({marks(batch)})",  # noqa: S608
                batch,
            )
            found.update((chunk.chunk_id, chunk) for chunk in map(indexed_chunk, rows))
        return found

    def rows_of_chunks(self, file_ids_json: str) -> tuple[int, int]:
        """Give the first and the last row of the chunks of some files, a JSON array; 0 and 0 when there are none."""
        first, last = self._connection.execute(
            "SELECT min(id), max(id) FROM chunks WHERE file_id IN (SELECT value FROM json_each(?))", (file_ids_json,)
        ).fetchone()
        return first or 0, last or 0

    def keyword_matches(
        self, expression: str, *, file_ids_json: str | None, rows: tuple[int, int] | None = None, limit: int
    ) -> list[tuple[ChunkId, float]]:
        """Rank chunks by BM25 for an FTS5 expression, best first; a higher score is better.

        `file_ids_json` is a JSON array of the files that a hit may come from, `rows` the first and the last row of it.
        """
        scope = ""
        arguments: list[object] = [expression]
        if rows is not None:
            scope = "AND rowid BETWEEN ? AND ?"
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
        return [(chunk_id_from_bytes(bytes.fromhex(chunk_id)), -score) for score, _, chunk_id in best]

    def matching(self, expression: str, chunk_ids: Iterable[ChunkId]) -> set[ChunkId]:
        """Tell which of these chunks match an FTS5 expression."""
        found: set[ChunkId] = set()
        for batch in batches([chunk_id_bytes(chunk_id) for chunk_id in chunk_ids]):
            rows = self._connection.execute(
                f"""SELECT chunk_id FROM chunks WHERE chunk_id IN ({marks(batch)})
                    AND id IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)""",  # noqa: S608
                [*batch, expression],
            )
            found.update(chunk_id_from_bytes(row[0]) for row in rows)
        return found

    # The vocabulary, as `matchplan.plan_match` asks for it

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
            (prefix, prefix + chr(0x10FFFF), limit),
        )
        return [(term, n_documents) for term, n_documents in rows]

    def ending_with(self, suffix: str, *, limit: int) -> list[tuple[str, int]]:
        """Give words that end with `suffix`, with the number of chunks they occur in; reads the whole vocabulary."""
        rows = self._connection.execute(
            "SELECT term, doc FROM chunks_vocab WHERE substr(term, ?) = ? LIMIT ?", (-len(suffix), suffix, limit)
        )
        return rows.fetchall()

    # State

    def read_through(self) -> None:
        """Read what searches ask for from the disk, so that the system has it in memory when they do."""
        for what in _READ_BY_SEARCHES:
            self._connection.execute(f"SELECT count(*) FROM {what}").fetchone()  # noqa: S608 - made of constants

    def summary(self) -> IndexSummary:
        """Sum up what an answer is drawn from."""
        return self._once("summary", self._summary)

    def _summary(self) -> IndexSummary:
        n_chunks = self.n_chunks
        directories = self._connection.execute("SELECT count(*), min(coalesce(completed_at, 0)) FROM directories")
        n_directories, completed_at = directories.fetchone()
        return IndexSummary(
            n_directories=n_directories,
            n_files=self._count("SELECT count(*) FROM files WHERE state = 'indexed'"),
            n_chunks=n_chunks,
            n_embedded=n_chunks - self.vectors.count_chunks_to_embed(),
            is_running=self._count("SELECT count(*) FROM runs WHERE outcome IS NULL") > 0,
            completed_at=completed_at or None,
        )

    def count_words_rows(self) -> int:
        """Count the rows of the full-text index, which must be as many as there are chunks."""
        return self._count("SELECT count(*) FROM chunks_fts_docsize")

    def read_words(self) -> None:
        """Read the full-text index through: where it is damaged, an error says so."""
        self._count("SELECT count(*) FROM chunks_vocab")

    def directory_statuses(self) -> tuple[DirectoryStatus, ...]:
        """Sum up every tracked directory."""
        rows = self._connection.execute("SELECT id, path, completed_at FROM directories ORDER BY path").fetchall()
        return tuple(self._directory_status(*row) for row in rows)

    def failures(self, *, within: FilePath | None, limit: int) -> tuple[FileFailure, ...]:
        """List the files and directories that the last run could not process, and chunks that were refused."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"""SELECT path, reason, detail, broken_hash FROM files f WHERE state = 'failed' AND {condition}
                UNION ALL
                SELECT f.path, 'embed', 'chunk ' || (c.ordinal + 1) || ': ' || r.reason, NULL FROM refused_chunks r
                JOIN chunks c ON c.id = r.id JOIN files f ON f.id = c.file_id WHERE {condition}
                ORDER BY path LIMIT ?""",  # noqa: S608
            [*arguments, *arguments, limit],
        )
        return tuple(FileFailure(FilePath(row[0]), Stage(row[1]), row[2], hash=row[3]) for row in rows)

    def skipped_files(self, *, within: FilePath | None, limit: int) -> tuple[SkippedFile, ...]:
        """List the files that were left out, with reason and detail."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"SELECT path, reason, detail FROM files f WHERE state = 'skipped' AND {condition} ORDER BY path LIMIT ?",  # noqa: S608
            [*arguments, limit],
        )
        return tuple(SkippedFile(FilePath(path), SkipReason(reason), detail) for path, reason, detail in rows)

    def latest_runs(self, limit: int) -> tuple[RunRecord, ...]:
        """List the newest runs, newest first."""
        rows = self._connection.execute(
            """SELECT id, pid, host, verb, directories, started_at, heartbeat_at, phase, files_done, files_total,
                      bytes_done, bytes_total, chunks_done, chunks_total, n_failed, outcome, message
               FROM runs ORDER BY id DESC LIMIT ?""",
            (limit,),
        )
        return tuple(_run_record(row) for row in rows)

    def _directory_status(self, directory_id: int, path: FilePath, completed_at: float | None) -> DirectoryStatus:
        n_files, n_bytes = self._connection.execute(
            "SELECT count(*), coalesce(sum(size), 0) FROM files WHERE directory_id = ? AND state = 'indexed'",
            (directory_id,),
        ).fetchone()
        n_chunks, n_embedded = self._connection.execute(
            """SELECT count(*), coalesce(sum(c.is_embedded), 0)
               FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.directory_id = ?""",
            (directory_id,),
        ).fetchone()
        skipped = self._connection.execute(
            """SELECT reason, count(*) FROM files WHERE directory_id = ? AND state = 'skipped'
               GROUP BY reason ORDER BY count(*) DESC, reason""",
            (directory_id,),
        ).fetchall()
        return DirectoryStatus(
            path=path,
            is_available=os.path.isdir(os_path(path)),
            completed_at=completed_at,
            n_files=n_files,
            n_bytes=n_bytes,
            n_chunks=n_chunks,
            n_embedded=n_embedded,
            skipped=tuple((SkipReason(reason), count) for reason, count in skipped),
            n_failed=self._count(
                "SELECT count(*) FROM files WHERE directory_id = ? AND state = 'failed'", (directory_id,)
            ),
            n_masked=self._count(
                "SELECT coalesce(sum(n_masked), 0) FROM files WHERE directory_id = ?", (directory_id,)
            ),
            n_refused=self._count(
                """SELECT count(*) FROM refused_chunks r JOIN chunks c ON c.id = r.id JOIN files f ON f.id = c.file_id
                   WHERE f.directory_id = ?""",
                (directory_id,),
            ),
        )


def _run_record(row: Sequence[object]) -> RunRecord:
    id_, pid, host, verb, directories, started_at, heartbeat_at, phase, *counts = row[:15]
    progress = RunProgress(Phase(phase), *counts)  # type: ignore[arg-type]
    outcome = Outcome(str(row[15])) if row[15] else None
    places = tuple(map(FilePath, json.loads(str(directories))))
    return RunRecord(id_, pid, host, Verb(verb), places, started_at, heartbeat_at, progress, outcome, row[16])  # type: ignore[arg-type]
