"""One batch of writes to the index: all of it happens, or nothing.

The invariant it guards: a chunk, its text and its full-text row come and go together, and a vector whose chunk goes
is remembered as stale, with the hash of its text, until the vector store has dropped it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence

from directory_indexer.chunker.chunks import Chunk, embedding_text
from directory_indexer.docstore.known import FileState, left_out_of
from directory_indexer.docstore.removed_words import note_removal
from directory_indexer.docstore.runs import Outcome, RunProgress, Verb
from directory_indexer.docstore.schema import FTS_TABLE
from directory_indexer.docstore.texts import packed, unpacked
from directory_indexer.docstore.vectors import FORMER, GENERATION_KEYS, GONE_FORMER, NEEDLESS, EmbeddedChunk
from directory_indexer.embedders.space import EmbeddingSpace
from directory_indexer.files import FileFailure, SkippedFile, SourceFile
from directory_indexer.ids import chunk_id_bytes, content_hash, new_chunk_id
from directory_indexer.parsing.outcomes import ParsedFile, UnchangedFile
from directory_indexer.paths import FilePath, well_formed
from directory_indexer.relevance.analyzer import FTS_COLUMNS, index_fields
from directory_indexer.vectorstore import VectorPlace
from directory_indexer.walker.listing import SettledDirectory

_RUNS_KEPT = 100
_LINE_KEYS = ("space", "suffix", *GENERATION_KEYS.values())
_ADD_FTS = f"INSERT INTO chunks_fts (rowid, {', '.join(FTS_COLUMNS)}) VALUES (?{', ?' * len(FTS_COLUMNS)})"  # noqa: S608 - made of constants
_DELETE_FTS = _ADD_FTS.replace("(rowid", "(chunks_fts, rowid").replace("(?", "('delete', ?", 1)
"""FTS5 takes a row out of a table that keeps no text when it is given the very values that were put in."""

_ADD_TEXT = "INSERT INTO chunk_texts (id, text) VALUES (?, ?)"
_PLAIN_TEXTS = "plain_texts_until"
_FTS_SOURCES = """
    c.id, t.text, c.heading, f.title, f.path, d.path FROM files f JOIN chunks c ON c.file_id = f.id
    JOIN chunk_texts t ON t.id = c.id JOIN directories d ON d.id = f.directory_id
"""
_STAMP_COLUMNS = "path, size, mtime_ns, changed_ns, inode, is_settled, checked_ns"
_FAILURE_COLUMNS = f"{_STAMP_COLUMNS}, state, reason, detail, broken_hash, broken_recipe"
_EXCLUDED = ", ".join(f"excluded.{name}" for name in _FAILURE_COLUMNS.split(", "))
_FILE_COLUMNS = (
    f"{_STAMP_COLUMNS}, directory_id, state, hash, recipe, kind, title, page_starts, reason, detail, "
    "n_masked, broken_hash, broken_recipe"
)
_FILE_MARKS = ", ".join("?" * len(_FILE_COLUMNS.split(",")))
_ADD_FILE = f"INSERT INTO files ({_FILE_COLUMNS}) VALUES ({_FILE_MARKS})"  # noqa: S608 - made of constants
_CHANGE_FILE = f"UPDATE files SET ({_FILE_COLUMNS}) = ({_FILE_MARKS}) WHERE id = ?"  # noqa: S608 - made of constants


class Transaction:
    """A batch of writes; see the invariant of the module."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._unsettled: set[FilePath] = set()

    # Directories

    def add_directory(self, path: FilePath) -> int:
        """Track a directory and give its id; a tracked one keeps its own."""
        self._connection.execute(
            "INSERT INTO directories (path, added_at) VALUES (?, ?) ON CONFLICT DO NOTHING", (path, time.time())
        )
        return int(self._connection.execute("SELECT id FROM directories WHERE path = ?", (path,)).fetchone()[0])

    def complete_directory(self, directory_id: int) -> None:
        """Note that a run has gone through all of a directory."""
        self._connection.execute("UPDATE directories SET completed_at = ? WHERE id = ?", (time.time(), directory_id))

    def set_mounts(self, directory_id: int, mounts: Mapping[FilePath, str]) -> None:
        """Remember the file system of a directory, and where others begin in it."""
        self._connection.execute(
            "UPDATE directories SET mounts = ? WHERE id = ?", (json.dumps(dict(mounts), sort_keys=True), directory_id)
        )

    def remove_directory(self, directory_id: int) -> None:
        """Stop tracking a directory whose files are gone from the index."""
        self._connection.execute("DELETE FROM directories WHERE id = ?", (directory_id,))

    def settle(self, directory_id: int, settled: Mapping[FilePath, SettledDirectory]) -> None:
        """Note that nothing needs to be looked at in these while they are as they were; any write to a file ends it."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO settled_directories VALUES (?, ?, ?, ?, ?)",
            [(path, directory_id, one.digest, one.n_files, left_out_of(path, one)) for path, one in settled.items()],
        )

    def unsettle(self, directories: Iterable[FilePath]) -> None:
        """Let directories be looked at again."""
        self._connection.executemany(
            "DELETE FROM settled_directories WHERE path = ?", [(directory,) for directory in directories]
        )

    # Files

    def put_file(self, directory_id: int, parsed: ParsedFile, *, recipe: int) -> None:
        """Put a file in, in the place of what the index held of it."""
        source = parsed.source
        self._unsettle_around(source.path)
        self._remove_chunks_of(source.path)
        file_id = self._put_row(
            source.path,
            (
                *_stamp_values(source, parsed.seen_ns),
                *(directory_id, FileState.INDEXED, parsed.hash, recipe, parsed.kind, parsed.title),
                *(" ".join(map(str, parsed.page_starts)), "", "", parsed.n_masked, None, None),
            ),
        )
        self._add_chunks(file_id, parsed)

    def put_skipped(self, directory_id: int, skipped: SkippedFile, *, recipe: int) -> None:
        """Note why a file is left out; what the index held of it goes."""
        self._unsettle_around(skipped.path)
        self._remove_chunks_of(skipped.path)
        self._put_row(
            skipped.path,
            (
                *_stamp_values(skipped.source or SourceFile(skipped.path, 0, 0), skipped.seen_ns),
                *(directory_id, FileState.SKIPPED, None, recipe, "", "", ""),
                *(skipped.reason, well_formed(skipped.detail), 0, None, None),
            ),
        )

    def put_failure(self, directory_id: int, failure: FileFailure, *, recipe: int) -> None:
        """Note why a file could not be processed; its text from an earlier run stays until there is a newer one."""
        self._unsettle_around(failure.path)
        values = (
            *_stamp_values(failure.source or SourceFile(failure.path, 0, 0), failure.seen_ns),
            *(
                FileState.FAILED,
                failure.stage,
                well_formed(failure.message),
                failure.hash,
                recipe if failure.hash else None,
            ),
        )
        self._connection.execute(
            f"""INSERT INTO files ({_FAILURE_COLUMNS}, directory_id, recipe)
                VALUES ({", ".join("?" * len(values))}, ?, 0)
                ON CONFLICT (path) DO UPDATE SET ({_FAILURE_COLUMNS}) = ({_EXCLUDED})""",  # noqa: S608 - made of constants
            (*values, directory_id),
        )

    def renew_stamps(self, unchanged: Sequence[UnchangedFile]) -> None:
        """Note new stamps of files whose bytes are what the index holds."""
        for one in unchanged:
            self._unsettle_around(one.source.path)
        self._connection.executemany(
            f"""UPDATE files SET ({_STAMP_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?),
                    state = 'indexed', reason = '', detail = '', broken_hash = NULL, broken_recipe = NULL
                WHERE path = ?""",  # noqa: S608 - made of constants
            [(*_stamp_values(one.source, one.seen_ns), one.source.path) for one in unchanged],
        )

    def remove_files(self, paths: Iterable[FilePath]) -> None:
        """Take files out of the index."""
        for path in paths:
            self._unsettle_around(path)
            self._remove_chunks_of(path)
            self._connection.execute("DELETE FROM files WHERE path = ?", (path,))

    # Vectors

    def put_vectors(self, embedded: Sequence[EmbeddedChunk]) -> None:
        """Make chunks searchable by meaning."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO pending_vectors (chunk_id, text_hash, vector) VALUES (?, ?, ?)",
            [(chunk_id_bytes(chunk.chunk_id), chunk.text_hash, chunk.vector) for chunk in embedded],
        )
        self._connection.executemany(
            "UPDATE chunks SET is_embedded = 1 WHERE id = ?", [(chunk.id,) for chunk in embedded]
        )
        self._connection.executemany("DELETE FROM refused_chunks WHERE id = ?", [(chunk.id,) for chunk in embedded])

    def put_refused(self, refused: Iterable[tuple[int, str]]) -> None:
        """Note, by row ids, which chunks the provider refuses, and why; the next run asks again."""
        self._connection.executemany("INSERT OR REPLACE INTO refused_chunks VALUES (?, ?)", refused)

    def publish_generation(self, place: VectorPlace, generation: int) -> None:
        """Name the generation that holds every vector written so far; no other store has all of them any more."""
        self._forget_generations()
        self.name_generation(place, generation)
        # Another text has the place of a text that is gone: the vector that was there is not that of the gone one now.
        self._connection.execute("DELETE FROM stale_points WHERE chunk_id IN (SELECT chunk_id FROM pending_vectors)")
        self._connection.execute("DELETE FROM pending_vectors")
        self._connection.execute(f"DELETE FROM stale_points WHERE {NEEDLESS}")  # noqa: S608 - made of constants

    def publish_former_generation(self, place: VectorPlace, generation: int) -> None:
        """Name the generation of a former space that holds no vector of a text that is gone."""
        self.set_meta(FORMER + GENERATION_KEYS[place], str(generation))
        self._connection.execute(f"DELETE FROM former_points AS p WHERE {GONE_FORMER}")  # noqa: S608 - made of constants

    def name_generation(self, place: VectorPlace, generation: int) -> None:
        """Name a generation that holds the same vectors as those that are named already."""
        self.set_meta(GENERATION_KEYS[place], str(generation))

    def unname_generation(self, place: VectorPlace) -> None:
        """Let a store have no generation that the index could answer from."""
        self.forget_meta(GENERATION_KEYS[place])

    def forget_vectors(self) -> None:
        """Let every chunk wait for its vector again, and start over with no generation."""
        self._forget_generations()
        self._connection.execute("DELETE FROM pending_vectors")
        self._connection.execute("DELETE FROM stale_points")
        self._connection.execute("UPDATE chunks SET is_embedded = 0 WHERE is_embedded = 1")

    def forget_generation(self) -> None:
        """Let every chunk wait for its vector again whose vector only the generation held."""
        self._forget_generations()
        self._connection.execute("DELETE FROM stale_points")
        self._connection.execute(
            """UPDATE chunks SET is_embedded = 0
               WHERE is_embedded = 1 AND chunk_id NOT IN (SELECT chunk_id FROM pending_vectors)"""
        )

    def forget_vectors_of(self, chunk_ids: Iterable[str]) -> None:
        """Let chunks wait for their vectors again."""
        self._connection.executemany(
            "UPDATE chunks SET is_embedded = 0 WHERE chunk_id = ?",
            [(chunk_id_bytes(lost),) for lost in chunk_ids],
        )

    def add_stale_points(self, chunk_ids: Iterable[str]) -> None:
        """Note points that the vector store should not hold."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO stale_points (chunk_id, text_hash) VALUES (?, x'')",
            [(chunk_id_bytes(unknown),) for unknown in chunk_ids],
        )

    def set_space(self, space: EmbeddingSpace) -> None:
        """Remember the space of the first vectors."""
        self.set_meta("space", json.dumps(space._asdict()))

    def begin_switch(self, suffix: str) -> None:
        """Start a new set of vectors; the one that answers now goes on answering until the new one is complete.

        Every vector must be in a generation. A switch that is under way is given up for this one.
        """
        if not self._meta("former_space") and self._meta("space"):
            for key in _LINE_KEYS:
                self._move_meta(key, FORMER + key)
            self._connection.execute(
                "INSERT INTO former_points SELECT chunk_id, text_hash FROM chunks WHERE is_embedded = 1"
            )
            self._connection.execute("INSERT OR IGNORE INTO former_points SELECT chunk_id, text_hash FROM stale_points")
        self._leave_line()
        self.set_meta("suffix", suffix)

    def switch_back(self) -> None:
        """Give up a switch: what answers now takes new vectors again."""
        self._leave_line()
        for key in _LINE_KEYS:
            self._move_meta(FORMER + key, key)
        self._connection.execute(
            """UPDATE chunks AS c SET is_embedded = 1 WHERE EXISTS (
                   SELECT 1 FROM former_points p WHERE p.chunk_id = c.chunk_id AND p.text_hash = c.text_hash)"""
        )
        self._connection.execute(
            f"INSERT INTO stale_points SELECT p.chunk_id, p.text_hash FROM former_points p WHERE {GONE_FORMER}"  # noqa: S608
        )
        self._connection.execute("DELETE FROM former_points")

    def end_switch(self) -> None:
        """Let the new vectors answer."""
        self.set_meta("left_suffix", self._meta(FORMER + "suffix") or "")
        self._forget_former()

    def start_over(self) -> None:
        """Forget every vector and in which space they were."""
        self._forget_former()
        self._leave_line()

    def _forget_former(self) -> None:
        for key in _LINE_KEYS:
            self._connection.execute("DELETE FROM meta WHERE key = ?", (FORMER + key,))
        self._connection.execute("DELETE FROM former_points")

    def _leave_line(self) -> None:
        self.forget_vectors()
        self._connection.execute("DELETE FROM refused_chunks")
        for key in _LINE_KEYS:
            self._connection.execute("DELETE FROM meta WHERE key = ?", (key,))

    def _meta(self, key: str) -> str | None:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row and str(row[0])

    def _move_meta(self, key: str, to: str) -> None:
        self._connection.execute("UPDATE OR REPLACE meta SET key = ? WHERE key = ?", (to, key))

    # Words

    def check_words(self) -> None:
        """Let FTS5 check the full-text index: where it is damaged, an error says so."""
        self._connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check')")

    def rebuild_words(self) -> None:
        """Compute the full-text index again from the texts."""
        self._connection.execute("DROP TABLE chunks_fts")
        self._connection.execute(FTS_TABLE)
        rows = self._connection.execute(f"SELECT {_FTS_SOURCES} ORDER BY c.id")
        self._connection.executemany(_ADD_FTS, map(_stored_fts_row, rows))

    # Texts

    def pack_texts(self, limit: int) -> bool:
        """Pack so many of the texts that an older version wrote; tell whether there may be more."""
        until = self._meta(_PLAIN_TEXTS)
        if until is None:
            return False
        rows = self._connection.execute(
            "SELECT id, text FROM chunk_texts WHERE id <= ? ORDER BY id DESC LIMIT ?", (int(until), limit)
        ).fetchall()
        # Rows that shrink where they are would leave their pages half empty.
        self._connection.executemany("DELETE FROM chunk_texts WHERE id = ?", [(id_,) for id_, _ in rows])
        self._connection.executemany(_ADD_TEXT, [(id_, packed(unpacked(stored))) for id_, stored in reversed(rows)])
        if rows:
            self.set_meta(_PLAIN_TEXTS, str(rows[-1][0] - 1))
        else:
            self.forget_meta(_PLAIN_TEXTS)
        return bool(rows)

    # Runs and remembered values

    def start_run(self, *, pid: int, host: str, verb: Verb, directories: Sequence[FilePath]) -> int:
        """Record a run that begins; runs of processes that died are closed, old ones dropped."""
        now = time.time()
        self._connection.execute(
            "UPDATE runs SET outcome = 'interrupted', message = 'the process ended' WHERE outcome IS NULL"
        )
        cursor = self._connection.execute(
            """INSERT INTO runs (pid, host, verb, directories, started_at, heartbeat_at, phase)
               VALUES (?, ?, ?, ?, ?, ?, 'walking')""",
            (pid, host, verb, json.dumps(directories), now, now),
        )
        run_id = int(cursor.lastrowid or 0)
        self._connection.execute("DELETE FROM runs WHERE id <= ?", (run_id - _RUNS_KEPT,))
        return run_id

    def update_run(self, run_id: int, progress: RunProgress) -> None:
        """Tell other processes how far a run is."""
        self._connection.execute(
            """UPDATE runs SET heartbeat_at = ?, phase = ?, files_done = ?, files_total = ?, bytes_done = ?,
                   bytes_total = ?, chunks_done = ?, chunks_total = ?, n_failed = ? WHERE id = ?""",
            (
                *(time.time(), progress.phase, progress.files_done, progress.files_total, progress.bytes_done),
                *(progress.bytes_total, progress.chunks_done, progress.chunks_total, progress.n_failed, run_id),
            ),
        )

    def finish_run(self, run_id: int, outcome: Outcome, message: str) -> None:
        """Record how a run ended."""
        self._connection.execute(
            "UPDATE runs SET heartbeat_at = ?, phase = 'done', outcome = ?, message = ? WHERE id = ?",
            (time.time(), outcome.value, well_formed(message), run_id),
        )

    def forget_run_details(self) -> None:
        """Forget which directories runs were about, and what was said of them."""
        self._connection.execute("UPDATE runs SET directories = '[]', message = ''")

    def index_id(self) -> str:
        """Give the id of this index, which is chosen once."""
        self._connection.execute(
            "INSERT INTO meta VALUES ('index_id', ?) ON CONFLICT (key) DO NOTHING", (str(uuid.uuid4()),)
        )
        return str(self._connection.execute("SELECT value FROM meta WHERE key = 'index_id'").fetchone()[0])

    def set_meta(self, key: str, value: str) -> None:
        """Remember a value."""
        self._connection.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
        )

    def _forget_generations(self) -> None:
        for place in GENERATION_KEYS:
            self.unname_generation(place)

    def forget_meta(self, key: str) -> None:
        """Remember a value no more."""
        self._connection.execute("DELETE FROM meta WHERE key = ?", (key,))

    def _unsettle_around(self, path: FilePath) -> None:
        directory = FilePath(os.path.dirname(path))
        if directory not in self._unsettled:
            self._unsettled.add(directory)
            self.unsettle([directory])

    def _put_row(self, path: FilePath, values: Sequence[object]) -> int:
        # An upsert, or RETURNING, might have to be taken back by itself. So SQLite would let FTS5 write what it has
        # gathered before each of them: a segment for every file, and a quarter of the time of a batch.
        row = self._connection.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            return int(self._connection.execute(_ADD_FILE, values).lastrowid or 0)
        self._connection.execute(_CHANGE_FILE, (*values, row[0]))
        return int(row[0])

    def _add_chunks(self, file_id: int, parsed: ParsedFile) -> None:
        first = int(self._connection.execute("SELECT coalesce(max(id), 0) + 1 FROM chunks").fetchone()[0])
        numbered = list(enumerate(parsed.chunks, first))
        self._connection.executemany(
            """INSERT INTO chunks (id, file_id, chunk_id, text_hash, ordinal, n_tokens, start_char, end_char,
                   start_line, end_line, page, heading) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            [(id_, file_id, *_chunk_values(parsed, chunk)) for id_, chunk in numbered],
        )
        self._connection.executemany(_ADD_TEXT, [(id_, packed(chunk.text)) for id_, chunk in numbered])
        directory = self._connection.execute(
            "SELECT d.path FROM directories d JOIN files f ON f.directory_id = d.id WHERE f.id = ?", (file_id,)
        ).fetchone()[0]
        file = (parsed.title, parsed.source.path, directory)
        self._connection.executemany(
            _ADD_FTS, [_fts_row((id_, chunk.text, chunk.heading, *file)) for id_, chunk in numbered]
        )

    def _remove_chunks_of(self, path: FilePath) -> None:
        rows = self._connection.execute(
            f"SELECT {_FTS_SOURCES} WHERE f.path = ?",
            (path,),
        ).fetchall()
        if not rows:
            return
        note_removal(self._connection, now=time.time())
        ids = [(row[0],) for row in rows]
        self._connection.executemany(
            """INSERT OR IGNORE INTO stale_points (chunk_id, text_hash)
               SELECT chunk_id, text_hash FROM chunks c WHERE id = ? AND is_embedded = 1
               AND NOT EXISTS (SELECT 1 FROM pending_vectors p WHERE p.chunk_id = c.chunk_id)""",
            ids,
        )
        self._connection.executemany("DELETE FROM chunk_texts WHERE id = ?", ids)
        self._connection.executemany("DELETE FROM chunks WHERE id = ?", ids)
        self._connection.executemany(_DELETE_FTS, map(_stored_fts_row, rows))


def _stamp_values(source: SourceFile, seen_ns: int) -> tuple[object, ...]:
    return (*source, source.is_settled(seen_ns), seen_ns)


def _chunk_values(parsed: ParsedFile, chunk: Chunk) -> tuple[object, ...]:
    return (
        new_chunk_id(parsed.source.path, parsed.hash, chunk.ordinal),
        content_hash(embedding_text(chunk, parsed.source.path).encode()),
        chunk.ordinal,
        chunk.n_tokens,
        chunk.start_char,
        chunk.end_char,
        chunk.start_line,
        chunk.end_line,
        chunk.page,
        chunk.heading,
    )


def _stored_fts_row(row: Sequence[object]) -> tuple[object, ...]:
    id_, stored, *rest = row
    return _fts_row((id_, unpacked(stored), *rest))  # type: ignore[arg-type]  # the column holds nothing else


def _fts_row(row: Sequence[object]) -> tuple[object, ...]:
    id_, text, heading, title, path, directory = row
    below = str(path)[len(str(directory)) :].lstrip(os.sep)
    return (id_, *index_fields(text=str(text), heading=str(heading), title=str(title), path=below))
