"""Maintenance of the database file: size, log, removal of deleted content, integrity checks and repair.

A disk, another program or whoever could write to a backup may have put anything into the database: values that this
program cannot have written are detected. Those that can be recomputed are dropped. If the damaged value defines the
meaning of others, the database is rebuilt.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.core.errors import REBUILD_HINT, CorruptIndexError, StoreError
from directory_indexer.core.files import SkipReason, Stage
from directory_indexer.core.fingerprint import Fingerprint
from directory_indexer.core.lazy import lazily
from directory_indexer.core.scratch import remove_abandoned, scratch_beside, scratch_directories_in_use
from directory_indexer.embedding.model_files import DIMENSIONS, READABLE_STATIC_TABLES
from directory_indexer.storage.databases import ANOTHER_BACKUP_HINT, ConnectionPool
from directory_indexer.storage.databases.stored_values import (
    DamagedValueError,
    parse_epoch_seconds,
    parse_list,
    parse_path,
    parse_stored,
)
from directory_indexer.storage.documents import translated_errors, words
from directory_indexer.storage.documents.files import parse_page_starts
from directory_indexer.storage.documents.known_files import FileState, parse_skipped_entries
from directory_indexer.storage.documents.metadata import METADATA_NAMES
from directory_indexer.storage.documents.runs import RUN_COLUMNS, paused_run, run_record
from directory_indexer.storage.documents.schema import FORMER_PREFIX, GENERATION_KEYS, parse_space, parse_suffix
from directory_indexer.storage.documents.statistics import parse_mounts
from directory_indexer.storage.documents.vectors import is_vector
from directory_indexer.storage.documents.words import decompress_text, remove_cached_vocabulary

with lazily:
    from directory_indexer.embedding.static_table import parse_static_model

_CHECKPOINT_MS = 500

_ROW_BYTES: Final = 8


def _separators(column: str) -> str:
    """Return the SQL expression for the separators in a path; in a POSIX path on POSIX, a backslash is a letter."""
    return f"CASE WHEN {column} LIKE '/%' AND {os.sep == '/'} THEN '/' ELSE '/\\' END"


_HAS_UNRESOLVED_PATH: Final = (
    " OR ".join(
        f"instr(replace(path, substr({_separators('path')}, -1), '/') || '/', '{part}')" for part in ("/../", "/./")
    )
    + " OR instr(path, char(0)) OR typeof(path) <> 'text'"
)
"""A condition that no resolved path meets, on any operating system."""

_IS_BELOW_DIRECTORY: Final = f"""substr(f.path, 1, length(d.path)) = d.path AND instr({_separators("d.path")},
    substr(f.path, length(rtrim(d.path, {_separators("d.path")})) + 1, 1))"""

_FOREIGN_PATHS: Final = {
    "directories.path": f"SELECT 1 FROM directories WHERE {_HAS_UNRESOLVED_PATH} LIMIT 1",  # noqa: S608 - constants
    "files.path": f"""SELECT 1 FROM files WHERE {_HAS_UNRESOLVED_PATH} UNION ALL
        SELECT 1 FROM files f LEFT JOIN directories d ON d.id = f.directory_id
        WHERE d.path IS NULL OR NOT (f.path = d.path OR {_IS_BELOW_DIRECTORY}) LIMIT 1""",  # noqa: S608 - constants
    "files.tagged_below": f"""SELECT 1 FROM (SELECT tagged_below AS path FROM files WHERE tagged_below IS NOT NULL)
        WHERE {_HAS_UNRESOLVED_PATH} LIMIT 1""",  # noqa: S608 - constants
}

_DELETE_META: Final = "DELETE FROM meta WHERE key = ?"
_UNSETTLE_DIRECTORIES: Final = "DELETE FROM settled_directories"
_DELETE_STATIC_VECTORS: Final = "DELETE FROM static_vectors; DELETE FROM static_model"
_METADATA_NAMES: Final = ", ".join(f"'{name}'" for name in METADATA_NAMES.values())

_ALLOWED_TYPES = {kind: f"'{kind.lower()}', 'null'" for kind in ("TEXT", "INTEGER", "REAL", "BLOB")}
"""The SQL types allowed for each declared type of a column."""


class DatabaseMaintenance:
    """Maintenance of one database file; a caller that writes holds the write lock.

    Raises:
        StoreError: from every method, when the database cannot be opened, read or written.
    """

    def __init__(self, path: Path, connections: ConnectionPool) -> None:
        self._path = path
        self._connections = connections

    def checkpoint(
        self, *, words_kept_seconds: float = words.RETENTION_SECONDS, must_stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Purge words removed long ago, release unused pages, and truncate the write-ahead log as far as readers allow.

        What is stopped meanwhile is continued the next time.
        """
        with self._open_connection() as connection:
            words.purge_removed_words(
                connection,
                now=time.time(),
                kept_seconds=words_kept_seconds,
                must_stop=must_stop,
                forget_words=lambda: remove_cached_vocabulary(self._path),
            )
            connection.executescript("PRAGMA incremental_vacuum")  # `execute` stops after the first page
            _truncate_wal(connection)

    def compact(self) -> None:
        """Rewrite the database without removed content, so that none of it stays on disk.

        Damaged databases that were set aside and files of killed processes are removed, too. `residue_warnings`
        reports what could not be removed.
        """
        with self._open_connection() as connection:
            remove_cached_vocabulary(self._path)
            words.purge_all_words(connection)
            remove_cached_vocabulary(self._path)
            connection.execute("VACUUM")
            _truncate_wal(connection)
        for damaged in _damaged_copies(self._path):
            with contextlib.suppress(OSError):
                damaged.unlink()
        remove_abandoned(scratch_beside(self._path))
        remove_abandoned()

    def residue_warnings(self) -> list[str]:
        """Return warnings about files that may still contain removed content after compaction."""
        log = self._path.with_name(self._path.name + "-wal")
        places = scratch_directories_in_use(scratch_beside(self._path))
        messages = [f"'{damaged}' cannot be removed, and may tell of it" for damaged in _damaged_copies(self._path)]
        messages += [f"'{used}' goes with the process that reads a file there" for used in places]
        with contextlib.suppress(FileNotFoundError):
            if log.stat().st_size:  # a truncated log is empty
                messages.append(
                    "another command is reading the index; what it still holds on to leaves the disk with the next run"
                )
        return messages

    def damaged_values(self) -> list[str]:
        """Return the names of the values that this program cannot have written."""
        with self._open_connection() as connection:
            return sorted({name for name, _, _ in damaged_values(connection)})

    def repair_values(self) -> list[str]:
        """Repair the values that this program cannot have written, and return their names.

        Raises:
            CorruptIndexError: one of them defines the meaning of others.
        """
        with self._open_connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            damaged = list(damaged_values(connection))
            for name, mend, key in damaged:
                if not mend:
                    raise CorruptIndexError(f"'{name}' of a row is damaged", hint=REBUILD_HINT)
                for statement in mend.split(";"):
                    connection.execute(statement, (key,) if "?" in statement else ())
            connection.execute("COMMIT")
            return sorted({name for name, _, _ in damaged})

    def require_integrity(self) -> None:
        """Check every page and index except the full-text one, and that every text can be read.

        Raises:
            CorruptIndexError: the database is damaged; the message describes the damage.
        """
        with self._open_connection() as connection:
            problems = _find_damage(connection)
        if problems:
            raise CorruptIndexError(f"{self._path}: {'; '.join(problems)}", hint=REBUILD_HINT)

    @contextlib.contextmanager
    def _open_connection(self) -> Iterator[sqlite3.Connection]:
        with translated_errors(self._path), contextlib.closing(self._connections.open()) as connection:
            yield connection


def damaged_values(connection: sqlite3.Connection) -> Iterator[tuple[str, str, object]]:
    """Yield the name of each damaged value, the statement that repairs it, and the key of its row."""
    for values in _CHECKED_COLUMNS:
        for key, *row in connection.execute(values.query).fetchall():
            try:
                parse_stored(values.name, lambda columns: values.parse(*columns), row)  # noqa: B023 - used at once
            except (DamagedValueError, CorruptIndexError):
                yield values.name, values.mend, key


def require_safe_paths(path: Path, *, name: str) -> None:
    """Ensure that a closed database from elsewhere names no path outside its tracked directories.

    Raises:
        StoreError: it does, or holds a value that this program does not write.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            damaged = next((column for column, _, _ in damaged_values(connection)), "")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        damaged = str(error)
    if damaged:
        raise StoreError(
            f"'{name}' of the backup holds what dirindex does not write: {damaged}", hint=ANOTHER_BACKUP_HINT
        )


def _find_damage(connection: sqlite3.Connection) -> list[str]:
    """Return the damage that SQLite finds in pages, indexes other than the full-text one, and types of values."""
    lines = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
    # SQLite 3.44 and newer check the full-text index, too, which can be rebuilt on its own.
    problems = [line for line in lines if line != "ok" and "FTS5 table" not in line]
    if not problems:
        for (stored,) in connection.execute("SELECT text FROM chunk_texts"):
            decompress_text(stored)
        for table, columns in _columns(connection):  # texts that are stored uncompressed: names, headings, messages
            if names := ", ".join(name for name, kind in columns if kind == "TEXT"):
                for _ in connection.execute(f"SELECT {names} FROM {table}"):  # noqa: S608 - as the schema names them
                    pass
        if column := _mistyped_column(connection):
            problems.append(f"'{column}' of a row is of another type")
    return problems


def damaged_column(connection: sqlite3.Connection) -> str:
    """Return a column with a value of another type than declared, or a path outside its tracked directory; else ""."""
    return _mistyped_column(connection) or _foreign_path(connection)


def _mistyped_column(connection: sqlite3.Connection) -> str:
    """Return a column with a value of another type than declared; empty if there is none."""
    for table, columns in _columns(connection):
        wrong = " ".join(f"WHEN typeof({name}) NOT IN ({_ALLOWED_TYPES[kind]}) THEN '{name}'" for name, kind in columns)
        query = f"SELECT * FROM (SELECT CASE {wrong} END AS name FROM {table}) WHERE name IS NOT NULL LIMIT 1"  # noqa: S608
        if row := connection.execute(query).fetchone():
            return f"{table}.{row[0]}"
    return ""


def rename_damaged_database(path: Path) -> Path:
    """Rename a damaged database, so that a new one can take its place; return its new name."""
    damaged = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return path.rename(damaged)


def _truncate_wal(connection: sqlite3.Connection) -> None:
    # A reader that was suspended in the middle of a query must not block the writer.
    connection.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_MS}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class _CheckedColumn(NamedTuple):
    """Rows of a table to parse, and the statement that repairs a row, whose argument is the first column.

    Without a statement, the database has to be rebuilt.
    """

    name: str
    query: str
    parse: Callable[..., object]
    mend: str = ""


def _foreign_path(connection: sqlite3.Connection) -> str:
    """Return the column of a path that lies outside its tracked directory; empty if there is none."""
    for column, query in _FOREIGN_PATHS.items():
        if connection.execute(query).fetchone():
            return column
    return ""


def _parse_file_state(state: str, reason: str) -> None:
    kind: Any = {FileState.SKIPPED: SkipReason, FileState.FAILED: Stage}.get(FileState(state))
    if kind is not None:
        kind(reason)


def _parse_static_block(rows: bytes, codes: bytes) -> None:
    if not rows or len(rows) % _ROW_BYTES or len(codes) != len(rows) // _ROW_BYTES * (DIMENSIONS // 8):
        raise ValueError


def _parse_vector(value: object, space: str | None) -> None:
    if not is_vector(value, parse_space(space).dimensions if space else 0):
        raise ValueError


def _reject_value(*_: object) -> None:
    raise ValueError


def _checked_meta_keys(parse: Callable[..., object], *keys: str, mend: str = "") -> _CheckedColumn:
    listed = ", ".join(f"'{key}'" for key in keys)
    return _CheckedColumn(f"meta.{keys[0]}", f"SELECT key, value FROM meta WHERE key IN ({listed})", parse, mend)  # noqa: S608


def _columns(connection: sqlite3.Connection) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the tables, except those of FTS5 and of packed texts, with the names and types of their columns."""
    tables = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'chunks_*' AND name <> 'chunk_texts'"
    )
    for (table,) in connection.execute(f"{tables} AND name NOT GLOB 'sqlite_*'").fetchall():
        rows = connection.execute("SELECT name, type FROM pragma_table_info(?)", (table,))
        yield table, [(name, kind) for name, kind in rows if kind in _ALLOWED_TYPES]


def _damaged_copies(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.damaged-*"))


_CHECKED_COLUMNS: Final = (
    _checked_meta_keys(parse_space, "space", f"{FORMER_PREFIX}space"),
    _checked_meta_keys(parse_suffix, "suffix", f"{FORMER_PREFIX}suffix", "left_suffix"),
    _checked_meta_keys(int, *GENERATION_KEYS.values(), *(FORMER_PREFIX + key for key in GENERATION_KEYS.values())),
    _checked_meta_keys(Fingerprint.from_json, "fingerprint"),
    _checked_meta_keys(float, "words_removed_at", mend=_DELETE_META),
    _checked_meta_keys(int, "words_drops", "rows_given", "plain_texts_until", mend=_DELETE_META),
    _checked_meta_keys(parse_list, "migration", mend=_DELETE_META),
    _CheckedColumn("directories.path", "SELECT id, path FROM directories", parse_path),
    *(_CheckedColumn(name, query, _reject_value) for name, query in _FOREIGN_PATHS.items()),
    _CheckedColumn(
        "directories.completed_at",
        "SELECT id, completed_at FROM directories WHERE completed_at IS NOT NULL",
        parse_epoch_seconds,
        "UPDATE directories SET completed_at = NULL WHERE id = ?",
    ),
    _CheckedColumn(
        "files.dated_at",
        "SELECT id, dated_at FROM files WHERE dated_at IS NOT NULL",
        parse_epoch_seconds,
        "UPDATE files SET dated_at = NULL WHERE id = ?",
    ),
    _CheckedColumn(
        "directories.mounts",
        "SELECT id, mounts FROM directories",
        parse_mounts,
        "UPDATE directories SET mounts = '{}' WHERE id = ?",
    ),
    _CheckedColumn(
        "settled_directories.left_out",
        "SELECT path, left_out FROM settled_directories WHERE left_out <> ''",
        parse_skipped_entries,
        "DELETE FROM settled_directories WHERE path = ?",
    ),
    _CheckedColumn(
        "runs",
        f"SELECT id, {RUN_COLUMNS} FROM runs",  # noqa: S608 - constants
        lambda *row: run_record(row),
        "DELETE FROM runs WHERE id = ?",
    ),
    _CheckedColumn(
        "paused_runs",
        "SELECT run_id, run_id, directories, options, paused_at FROM paused_runs",
        lambda *row: paused_run(row),
        "DELETE FROM paused_runs WHERE run_id = ?",
    ),
    _CheckedColumn(
        "files.reason",
        "SELECT min(id), state, reason FROM files WHERE state <> 'indexed' GROUP BY state, reason",
        _parse_file_state,
        """UPDATE files SET state = 'failed', reason = 'read', detail = 'its record was damaged', recipe = 0
            WHERE (state, reason) = (SELECT state, reason FROM files WHERE id = ?);
           DELETE FROM settled_directories""",
    ),
    _CheckedColumn(
        "files.page_starts",
        "SELECT id, page_starts FROM files WHERE page_starts <> ''",
        parse_page_starts,
        "UPDATE files SET page_starts = '', recipe = 0 WHERE id = ?; " + _UNSETTLE_DIRECTORIES,  # noqa: S608 - constants
    ),
    _CheckedColumn(
        "metadata",
        f"""SELECT file_id FROM metadata WHERE name NOT IN ({_METADATA_NAMES}) OR typeof(value) <> 'text'
            OR name = 'pages' AND (value = '' OR value GLOB '*[^0-9]*')""",  # noqa: S608 - constants
        _reject_value,
        "UPDATE files SET recipe = 0 WHERE id = ?; DELETE FROM metadata WHERE file_id = ?; " + _UNSETTLE_DIRECTORIES,  # noqa: S608
    ),
    _CheckedColumn(
        "pending_vectors.vector",
        "SELECT chunk_id, vector, (SELECT value FROM meta WHERE key = 'space') FROM pending_vectors",
        _parse_vector,
        "UPDATE chunks SET is_embedded = 0 WHERE chunk_id = ?; DELETE FROM pending_vectors WHERE chunk_id = ?",
    ),
    _CheckedColumn(
        "static_vectors", "SELECT id, rows, codes FROM static_vectors", _parse_static_block, _DELETE_STATIC_VECTORS
    ),
    _CheckedColumn(
        "static_model",
        f"SELECT id, weights, mean, own_rows FROM static_model WHERE version IN {READABLE_STATIC_TABLES}",  # noqa: S608
        lambda *columns: parse_static_model(*columns),  # noqa: PLW0108 - imported when it is called
        _DELETE_STATIC_VECTORS,
    ),
)
"""Every column that holds more than a number, a text or a name, with its parser."""
