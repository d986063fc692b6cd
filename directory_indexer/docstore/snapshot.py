"""Questions to one moment of the index."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, TypeVar, cast

from directory_indexer.docstore.known import KNOWN_COLUMNS, KnownFiles, known_by_path
from directory_indexer.docstore.texts import unpacked
from directory_indexer.errors import IndexMismatchError
from directory_indexer.records import (
    Chunk,
    ChunkId,
    ContentHash,
    DirectoryStatus,
    EmbeddingSpace,
    FileFailure,
    FilePath,
    IndexedChunk,
    IndexSummary,
    KnownFile,
    Outcome,
    PendingChunk,
    PendingVectors,
    Phase,
    RunProgress,
    RunRecord,
    SkippedFile,
    SkipReason,
    Stage,
    VectorLine,
    VectorPlace,
    VectorPoint,
    chunk_id_bytes,
    chunk_id_from_bytes,
    embedding_text,
    os_path,
)
from directory_indexer.relevance.analyzer import FTS_WEIGHTS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

Answer = TypeVar("Answer")

GENERATION_KEYS = {VectorPlace.EMBEDDED: "generation", VectorPlace.SERVER: "generation_on_server"}
"""Under which key each vector store's generation is remembered; both hold the same vectors where both are named."""

NEEDLESS = "text_hash NOT IN (SELECT text_hash FROM chunks WHERE is_embedded = 0)"
"""The condition over stale points that no text waits for the vector of."""

_PENDING_VECTORS = "pending_vectors"
_MOST_REMEMBERED = 8_000_000
"""So many bytes of vectors stay with each of a few connections."""

_CUT_OFF = """
    UNION SELECT p.chunk_id FROM pending_vectors p LEFT JOIN chunks c ON c.chunk_id = p.chunk_id
    WHERE coalesce(c.is_embedded, 0) = 0
"""
"""Pending vectors whose texts are gone: a merge that was cut off may have brought them to the store."""

FORMER = "former_"
"""Begins the keys of what answers until a switch to another space is complete."""

_PENDING = "pending_vectors p CROSS JOIN chunks c ON c.chunk_id = p.chunk_id AND c.is_embedded = 1"
"""Vectors that no generation holds yet, with their chunks. Left to itself, SQLite goes through all chunks instead of
the few pending vectors: 80 ms of every search at 100 000 chunks."""

_CURRENT = """c.is_embedded = 1
    AND NOT EXISTS (SELECT 1 FROM pending_vectors p WHERE p.chunk_id = c.chunk_id)"""
GONE_FORMER = "NOT EXISTS (SELECT 1 FROM chunks c WHERE c.chunk_id = p.chunk_id AND c.text_hash = p.text_hash)"
_FORMER = "EXISTS (SELECT 1 FROM former_points p WHERE p.chunk_id = c.chunk_id AND p.text_hash = c.text_hash)"

_WHERE = {VectorPlace.EMBEDDED: "in the embedded engine", VectorPlace.SERVER: "on a Qdrant server"}
_MOVE = {
    VectorPlace.EMBEDDED: "dirindex migrate --to-embedded copies them, dirindex index --yes makes them again",
    VectorPlace.SERVER: "dirindex migrate --to-server URL copies them, dirindex index --yes makes them again",
}

_CHUNK_COLUMNS = """
    c.id, c.chunk_id, f.path, f.kind, f.title, f.mtime_ns,
    c.ordinal, t.text, c.n_tokens, c.start_char, c.end_char, c.start_line, c.end_line, c.page, c.heading
"""
_CHUNK_TABLES = "chunks c JOIN chunk_texts t ON t.id = c.id JOIN files f ON f.id = c.file_id"
_BM25 = f"bm25(chunks_fts, {', '.join(map(str, FTS_WEIGHTS))})"


_READ_BY_SEARCHES = (
    "chunks INDEXED BY sqlite_autoindex_chunks_1",
    "chunks NOT INDEXED WHERE heading IS NOT NULL",
    "chunk_texts WHERE text IS NOT NULL",
    "chunks_fts_data WHERE block IS NOT NULL",
    "chunks_fts_docsize WHERE sz IS NOT NULL",
    "files NOT INDEXED WHERE title IS NOT NULL",
)


class Snapshot:
    """One moment of the index; every method reads the same state.

    `known` is what was found out about this state before, and takes up what is found out now.
    """

    def __init__(self, connection: sqlite3.Connection, known: dict[str, object]) -> None:
        self._connection = connection
        self._known = known

    # Directories and files

    def directories(self) -> dict[FilePath, int]:
        """List the tracked directories with their ids, sorted by path."""

        def read() -> dict[FilePath, int]:
            rows = self._connection.execute("SELECT path, id FROM directories ORDER BY path")
            return {FilePath(row[0]): row[1] for row in rows}

        return self._once("directories", read)

    def mounts(self, directory_id: int) -> frozenset[FilePath]:
        """Name the places in a tracked directory where another file system began when it was last read."""
        row = self._connection.execute("SELECT mounts FROM directories WHERE id = ?", (directory_id,)).fetchone()
        return frozenset(json.loads(row[0]))

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
            f"SELECT {_CHUNK_COLUMNS} FROM {_CHUNK_TABLES} WHERE f.path = ? ORDER BY c.ordinal",  # noqa: S608
            (path,),
        )
        return [_indexed_chunk(row) for row in rows]

    def chunks(self, chunk_ids: Iterable[ChunkId]) -> dict[ChunkId, IndexedChunk]:
        """Give those of the chunks that exist now; the others belong to texts that are gone."""
        found: dict[ChunkId, IndexedChunk] = {}
        for batch in _batches([chunk_id_bytes(chunk_id) for chunk_id in chunk_ids]):
            rows = self._connection.execute(
                f"SELECT {_CHUNK_COLUMNS} FROM {_CHUNK_TABLES} WHERE c.chunk_id IN ({_marks(batch)})",  # noqa: S608
                batch,
            )
            found.update((chunk.chunk_id, chunk) for chunk in map(_indexed_chunk, rows))
        return found

    def current_points(self, chunk_ids: Sequence[ChunkId], file_ids: frozenset[int] | None) -> set[ChunkId]:
        """Tell which points of the generation are vectors of texts that are in the index now.

        If files are given, the text must belong to one of them. A chunk with a pending vector does not count: its
        point may stem from another text that had the same place.
        """
        current: set[ChunkId] = set()
        for batch in _batches([chunk_id_bytes(chunk_id) for chunk_id in chunk_ids]):
            rows = self._connection.execute(
                f"SELECT chunk_id, file_id FROM chunks c WHERE chunk_id IN ({_marks(batch)}) AND {self._answers}",  # noqa: S608
                batch,
            )
            current.update(chunk_id_from_bytes(row[0]) for row in rows if file_ids is None or row[1] in file_ids)
        return current

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
        for batch in _batches([chunk_id_bytes(chunk_id) for chunk_id in chunk_ids]):
            rows = self._connection.execute(
                f"""SELECT chunk_id FROM chunks WHERE chunk_id IN ({_marks(batch)})
                    AND id IN (SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?)""",  # noqa: S608
                [*batch, expression],
            )
            found.update(chunk_id_from_bytes(row[0]) for row in rows)
        return found

    # The vocabulary, as `query.plan_match` asks for it

    @property
    def n_chunks(self) -> int:
        """Count the chunks."""
        return self._once("n_chunks", lambda: self._count("SELECT count(*) FROM chunks"))

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Tell in how many chunks each of these words occurs; words that do not occur are left out."""
        rows = self._connection.execute(
            f"SELECT term, doc FROM chunks_vocab WHERE term IN ({_marks(terms)})",  # noqa: S608
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

    # Vectors

    def line(self) -> VectorLine:
        """Tell which vectors runs add to."""
        space = self.meta("space")
        return VectorLine(space_from_json(space) if space else None, self.meta("suffix") or "")

    def former_line(self) -> VectorLine | None:
        """Tell which vectors answer until those of another space are complete; None unless a switch is under way."""
        former = self.meta("former_space")
        return VectorLine(space_from_json(former), self.meta("former_suffix") or "") if former else None

    def left_line(self) -> VectorLine | None:
        """Tell which vectors answered before the last switch: somebody may have read them when they were dropped."""
        suffix = self.meta("left_suffix")
        return None if suffix is None or suffix == self.line().suffix else VectorLine(suffix=suffix)

    def answering_line(self) -> VectorLine:
        """Tell which vectors answer searches."""
        return self.former_line() or self.line()

    def generation(self, place: VectorPlace) -> int:
        """Name the generation in a vector store that belongs to this moment and takes new vectors; 0 is the empty one.

        Raises:
            IndexMismatchError: the vectors are in another store.
        """
        return _generation(self.generations(), place)

    def answering_generation(self, place: VectorPlace) -> int:
        """Name the generation in a vector store that answers searches; 0 is the empty one.

        Raises:
            IndexMismatchError: the vectors are in another store.
        """
        return _generation(self._generations(FORMER if self.former_line() else ""), place)

    def generations(self) -> dict[VectorPlace, int]:
        """Name the generation in each vector store that holds the vectors of this moment; none for an empty index."""
        return self._generations("")

    def _generations(self, prefix: str) -> dict[VectorPlace, int]:
        named = {place: int(self.meta(prefix + key) or 0) for place, key in GENERATION_KEYS.items()}
        return {place: generation for place, generation in named.items() if generation}

    def pending_vectors(self) -> PendingVectors:
        """Give the vectors that answer and that no generation holds yet; they are remembered unless they are large."""
        if known := self._known.get(_PENDING_VECTORS):
            return cast("PendingVectors", known)
        pending = self._pending_vectors()
        if len(pending.values) <= _MOST_REMEMBERED:
            self._known[_PENDING_VECTORS] = pending
        return pending

    def _pending_vectors(self) -> PendingVectors:
        if self.is_switching:
            return PendingVectors((), (), b"")
        rows = self._connection.execute(f"SELECT p.chunk_id, c.file_id, p.vector FROM {_PENDING}").fetchall()  # noqa: S608
        return PendingVectors(
            tuple(chunk_id_from_bytes(row[0]) for row in rows),
            tuple(row[1] for row in rows),
            b"".join(row[2] for row in rows),
        )

    def pending_vectors_of(self, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, bytes]:
        """Give those of the chunks' vectors that no generation holds yet."""
        found: dict[ChunkId, bytes] = {}
        for batch in _batches([chunk_id_bytes(chunk_id) for chunk_id in chunk_ids]):
            rows = self._connection.execute(
                f"SELECT p.chunk_id, p.vector FROM {_PENDING} WHERE p.chunk_id IN ({_marks(batch)})",  # noqa: S608
                batch,
            )
            found.update((chunk_id_from_bytes(chunk_id), vector) for chunk_id, vector in rows)
        return found

    @property
    def is_switching(self) -> bool:
        """Tell whether vectors of a former space answer until those of another are complete."""
        return self.meta("former_space") is not None

    @property
    def _answers(self) -> str:
        """The SQL condition over `chunks c` for those whose point in the answering generation is of their text."""
        return _FORMER if self.is_switching else _CURRENT

    def count_refused(self) -> int:
        """Count the chunks whose texts the provider refuses."""
        return self._count("SELECT count(*) FROM refused_chunks")

    def count_pending_vectors(self) -> int:
        """Count the vectors that no generation holds yet."""
        return self._count("SELECT count(*) FROM pending_vectors")

    def count_stored_vectors(self) -> int:
        """Count the vectors that the generation must hold, those of texts that are gone among them."""
        n_pending = self._count(f"SELECT count(*) FROM {_PENDING}")  # noqa: S608
        return self.n_chunks - self.count_chunks_to_embed() - n_pending + self.count_stale_points()

    def count_stale_points(self) -> int:
        """Count the points of the generation that belong to texts that are gone."""
        return self._count("SELECT count(*) FROM stale_points")

    def pending_points(self) -> Iterator[VectorPoint]:
        """Give the vectors that no generation holds yet as the vector store wants them."""
        rows = self._connection.execute(
            f"""SELECT p.chunk_id, f.path, d.path, p.vector FROM {_PENDING}
                JOIN files f ON f.id = c.file_id JOIN directories d ON d.id = f.directory_id"""  # noqa: S608
        )
        for chunk_id, path, directory, vector in rows:
            yield VectorPoint(chunk_id_from_bytes(chunk_id), path, _parents(path, directory), vector)

    def points(self, vectors: Mapping[ChunkId, NDArray[np.float32]]) -> list[VectorPoint]:
        """Give vectors with the places of their chunks, as a vector store wants them."""
        points: list[VectorPoint] = []
        for batch in _batches([chunk_id_bytes(chunk_id) for chunk_id in vectors]):
            rows = self._connection.execute(
                f"""SELECT c.chunk_id, f.path, d.path FROM chunks c JOIN files f ON f.id = c.file_id
                    JOIN directories d ON d.id = f.directory_id WHERE c.chunk_id IN ({_marks(batch)})""",  # noqa: S608
                batch,
            )
            for raw, path, directory in rows:
                chunk_id = chunk_id_from_bytes(raw)
                points.append(VectorPoint(chunk_id, path, _parents(path, directory), vectors[chunk_id].tobytes()))
        return points

    def stale_points(self) -> list[ChunkId]:
        """List the points that belong to texts that are gone."""
        return self._chunk_ids(f"SELECT chunk_id FROM stale_points {_CUT_OFF}")  # noqa: S608 - made of constants

    def needless_points(self) -> list[ChunkId]:
        """List the stale points but for those whose vectors are still to be reused: their texts wait for vectors."""
        return self._chunk_ids(f"SELECT chunk_id FROM stale_points WHERE {NEEDLESS} {_CUT_OFF}")  # noqa: S608

    def count_needless_points(self) -> int:
        """Count the stale points whose vectors are not to be reused."""
        return self._count(f"SELECT count(*) FROM stale_points WHERE {NEEDLESS}")  # noqa: S608 - made of constants

    def gone_former_points(self) -> list[ChunkId]:
        """List the points of a former space whose texts are gone."""
        return self._chunk_ids(f"SELECT chunk_id FROM former_points p WHERE {GONE_FORMER} {_CUT_OFF}")  # noqa: S608

    def chunks_to_embed(self, *, after: int, limit: int) -> list[PendingChunk]:
        """List chunks without a vector in the order of their row ids, from beyond `after`."""
        rows = self._connection.execute(
            f"SELECT {_CHUNK_COLUMNS}, c.text_hash FROM {_CHUNK_TABLES}"  # noqa: S608
            " WHERE c.is_embedded = 0 AND c.id > ? ORDER BY c.id LIMIT ?",
            (after, limit),
        )
        return [_pending_chunk(_indexed_chunk(row), row[-1]) for row in rows]

    def count_tokens(self, *, waiting_only: bool) -> int:
        """Add up the tokens of all chunks, or of those without a vector."""
        condition = "is_embedded = 0" if waiting_only else "1"
        return self._count(f"SELECT coalesce(sum(n_tokens), 0) FROM chunks WHERE {condition}")  # noqa: S608

    def count_chunks_to_embed(self) -> int:
        """Count the chunks without a vector."""
        return self._once("n_chunks_to_embed", lambda: self._count("SELECT count(*) FROM chunks WHERE is_embedded = 0"))

    def embedded_twins(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, ChunkId]:
        """Find, for texts, a chunk in the generation that was embedded from the very same text."""
        twins: dict[ContentHash, ChunkId] = {}
        for batch in _batches(text_hashes):
            marks = _marks(batch)
            rows = self._connection.execute(
                f"""SELECT text_hash, chunk_id FROM stale_points WHERE text_hash IN ({marks})
                    UNION ALL SELECT text_hash, chunk_id FROM chunks
                    WHERE is_embedded = 1 AND text_hash IN ({marks})""",  # noqa: S608
                [*batch, *batch],
            )
            twins.update((digest, chunk_id_from_bytes(chunk_id)) for digest, chunk_id in rows)
        return twins

    def pending_twins(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, bytes]:
        """Find, for texts, vectors of the very same text that no generation holds yet."""
        twins: dict[ContentHash, bytes] = {}
        for batch in _batches(text_hashes):
            rows = self._connection.execute(
                f"SELECT text_hash, vector FROM pending_vectors WHERE text_hash IN ({_marks(batch)})",  # noqa: S608
                batch,
            )
            twins.update(rows)
        return twins

    def has_current_points(self, file_ids_json: str | None) -> bool:
        """Tell whether the generation must hold the vector of any text, or of any in these files."""
        scope, arguments = "", []
        if file_ids_json is not None:
            scope, arguments = "AND c.file_id IN (SELECT value FROM json_each(?))", [file_ids_json]
        return bool(
            self._count(
                f"SELECT EXISTS (SELECT 1 FROM chunks c WHERE {self._answers} {scope})",  # noqa: S608
                arguments,
            )
        )

    def embedded_chunk_ids(self) -> set[ChunkId]:
        """Give every chunk whose vector the current generation must hold."""
        rows = self._connection.execute(
            "SELECT chunk_id FROM chunks WHERE is_embedded = 1 EXCEPT SELECT chunk_id FROM pending_vectors"
        )
        return {chunk_id_from_bytes(row[0]) for row in rows}

    # State

    def read_through(self) -> None:
        """Read what searches ask for from the disk, so that the system has it in memory when they do."""
        for what in _READ_BY_SEARCHES:
            self._connection.execute(f"SELECT count(*) FROM {what}").fetchone()  # noqa: S608 - made of constants

    def meta(self, key: str) -> str | None:
        """Read a remembered value."""
        values = self._once("meta", lambda: dict(self._connection.execute("SELECT key, value FROM meta")))
        return values.get(key)

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
            n_embedded=n_chunks - self.count_chunks_to_embed(),
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
            f"""SELECT path, reason, detail FROM files f WHERE state = 'failed' AND {condition}
                UNION ALL
                SELECT f.path, 'embed', 'chunk ' || (c.ordinal + 1) || ': ' || r.reason FROM refused_chunks r
                JOIN chunks c ON c.id = r.id JOIN files f ON f.id = c.file_id WHERE {condition}
                ORDER BY path LIMIT ?""",  # noqa: S608
            [*arguments, *arguments, limit],
        )
        return tuple(FileFailure(FilePath(path), Stage(reason), detail) for path, reason, detail in rows)

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
            """SELECT id, pid, host, command, started_at, heartbeat_at, phase, files_done, files_total, bytes_done,
                      bytes_total, chunks_done, chunks_total, n_failed, outcome, message
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
            n_refused=self._count(
                """SELECT count(*) FROM refused_chunks r JOIN chunks c ON c.id = r.id JOIN files f ON f.id = c.file_id
                   WHERE f.directory_id = ?""",
                (directory_id,),
            ),
        )

    def _chunk_ids(self, query: str) -> list[ChunkId]:
        return [chunk_id_from_bytes(row[0]) for row in self._connection.execute(query)]

    def _once(self, name: str, find_out: Callable[[], Answer]) -> Answer:
        if name not in self._known:
            self._known[name] = find_out()
        return cast("Answer", self._known[name])

    def _count(self, query: str, arguments: Sequence[object] = ()) -> int:
        return int(self._connection.execute(query, arguments).fetchone()[0])


def space_from_json(text: str) -> EmbeddingSpace:
    """Read a remembered space."""
    return EmbeddingSpace(**json.loads(text))


def _generation(generations: dict[VectorPlace, int], place: VectorPlace) -> int:
    if generations and place not in generations:
        raise IndexMismatchError(
            f"the vectors of the index are {_WHERE[next(iter(generations))]}, the configuration looks for them "
            f"{_WHERE[place]}",
            hint=_MOVE[place],
        )
    return generations.get(place, 0)


def within_condition(path: FilePath | None) -> tuple[str, list[object]]:
    """Make the SQL condition over `files f` for a file, or for everything below a directory."""
    if path is None:
        return "1", []
    first = f"{path.rstrip(os.sep)}{os.sep}"
    return "(f.path = ? OR (f.path >= ? AND f.path < ?))", [path, first, first[:-1] + chr(ord(os.sep) + 1)]


def _indexed_chunk(row: Sequence[object]) -> IndexedChunk:
    id_, chunk_id, path, kind, title, mtime_ns = row[:6]
    ordinal, stored, *place = row[6:15]
    chunk = Chunk(ordinal, unpacked(stored), *place)  # type: ignore[arg-type]  # the columns stand in the order of the fields
    return IndexedChunk(id_, chunk_id_from_bytes(chunk_id), FilePath(path), kind, title, mtime_ns, chunk)  # type: ignore[arg-type]


def _pending_chunk(stored: IndexedChunk, text_hash: object) -> PendingChunk:
    return PendingChunk(
        id=stored.id,
        chunk_id=stored.chunk_id,
        path=stored.path,
        ordinal=stored.chunk.ordinal,
        text_hash=ContentHash(text_hash),  # type: ignore[arg-type]
        embedding_text=embedding_text(stored.chunk, stored.path),
    )


def _run_record(row: Sequence[object]) -> RunRecord:
    id_, pid, host, command, started_at, heartbeat_at, phase, *counts = row[:14]
    progress = RunProgress(Phase(phase), *counts)  # type: ignore[arg-type]
    outcome = Outcome(str(row[14])) if row[14] else None
    return RunRecord(id_, pid, host, command, started_at, heartbeat_at, progress, outcome, row[15])  # type: ignore[arg-type]


def _parents(path: str, directory: str) -> tuple[FilePath, ...]:
    parents = [FilePath(directory)]
    end = path.find(os.sep, len(directory.rstrip(os.sep)) + 1)
    while end != -1:
        parents.append(FilePath(path[:end]))
        end = path.find(os.sep, end + 1)
    return tuple(parents)


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _batches(values: Iterable[object], size: int = 500) -> Iterator[list[object]]:
    """Cut values into lists that fit SQLite's limit of bound parameters twice over."""
    batch: list[object] = []
    for value in values:
        batch.append(value)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
