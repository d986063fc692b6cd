"""Detection and repair of values that this program cannot have written.

A disk, another program or whoever could write to a backup may have put anything into the database. Values that can be
recomputed are dropped. If the damaged value defines the meaning of others, the database is rebuilt.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.databases.copying import ANOTHER_BACKUP
from directory_indexer.databases.stored_values import DamagedValueError, list_in, parse_stored
from directory_indexer.docstore.directories import mounts_in
from directory_indexer.docstore.files import page_starts_in
from directory_indexer.docstore.known import FileState, parsed_left_out
from directory_indexer.docstore.meta import FORMER, GENERATION_KEYS, space_in, suffix_in
from directory_indexer.docstore.metadata import NAMES
from directory_indexer.docstore.pauses import paused_run
from directory_indexer.docstore.runs import RUN_COLUMNS, run_record
from directory_indexer.docstore.vectors import is_vector
from directory_indexer.embedders.model_files import DIMENSIONS, STATIC_TABLE_VERSION
from directory_indexer.errors import REBUILD, CorruptIndexError, StoreError
from directory_indexer.files import SkipReason, Stage
from directory_indexer.fingerprint import Fingerprint
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.embedders.static_table import static_model


class _Values(NamedTuple):
    """Rows of a table to parse, and the statement that repairs a row, whose argument is the first column.

    Without a statement, the database has to be rebuilt.
    """

    name: str
    query: str
    parse: Callable[..., object]
    mend: str = ""


def damaged_values(connection: sqlite3.Connection) -> Iterator[tuple[str, str, object]]:
    """Yield the name of each damaged value, the statement that repairs it, and the key of its row."""
    for values in _VALUES:
        for key, *row in connection.execute(values.query).fetchall():
            try:
                parse_stored(values.name, lambda columns: values.parse(*columns), row)  # noqa: B023 - used at once
            except (DamagedValueError, CorruptIndexError):
                yield values.name, values.mend, key


def mend_values(connection: sqlite3.Connection) -> list[str]:
    """Repair damaged values, and return their names.

    Raises:
        CorruptIndexError: a damaged value defines the meaning of others.
    """
    damaged = list(damaged_values(connection))
    for name, mend, key in damaged:
        if not mend:
            raise CorruptIndexError(f"'{name}' of a row is damaged", hint=REBUILD)
        for statement in mend.split(";"):
            connection.execute(statement, (key,) if "?" in statement else ())
    return sorted({name for name, _, _ in damaged})


def require_harmless(path: Path, *, name: str) -> None:
    """Ensure that a closed database from elsewhere names no path outside its tracked directories.

    Raises:
        StoreError: it does, or holds a value that this program does not write.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            damaged = next((column for column, _, _ in damaged_values(connection)), "") or _foreign_path(connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        damaged = str(error)
    if damaged:
        raise StoreError(f"'{name}' of the backup holds what dirindex does not write: {damaged}", hint=ANOTHER_BACKUP)


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
    if not is_vector(value, space_in(space).dimensions if space else 0):
        raise ValueError


def _reject(*_: object) -> None:
    raise ValueError


def _meta_values(parse: Callable[..., object], *keys: str, mend: str = "") -> _Values:
    listed = ", ".join(f"'{key}'" for key in keys)
    return _Values(f"meta.{keys[0]}", f"SELECT key, value FROM meta WHERE key IN ({listed})", parse, mend)  # noqa: S608


_ROW_BYTES: Final = 8

_UNRESOLVED: Final = (
    " OR ".join(f"instr(replace(path, '\\', '/') || '/', '{part}')" for part in ("/../", "/./"))
    + " OR instr(path, char(0)) OR typeof(path) <> 'text'"
)
"""A condition that no resolved path meets, on any operating system."""

_BELOW: Final = """substr(f.path, 1, length(d.path)) = d.path
    AND substr(f.path, length(rtrim(d.path, '/\\')) + 1, 1) IN ('/', '\\')"""

_FOREIGN_PATHS: Final = {
    "directories.path": f"SELECT 1 FROM directories WHERE {_UNRESOLVED} LIMIT 1",  # noqa: S608 - constants
    "files.path": f"""SELECT 1 FROM files WHERE {_UNRESOLVED} UNION ALL
        SELECT 1 FROM files f LEFT JOIN directories d ON d.id = f.directory_id
        WHERE d.path IS NULL OR NOT (f.path = d.path OR {_BELOW}) LIMIT 1""",  # noqa: S608 - constants
    "files.tagged_below": f"""SELECT 1 FROM (SELECT tagged_below AS path FROM files WHERE tagged_below IS NOT NULL)
        WHERE {_UNRESOLVED} LIMIT 1""",  # noqa: S608 - constants
}

_FORGET: Final = "DELETE FROM meta WHERE key = ?"
_UNSETTLE: Final = "DELETE FROM settled_directories"
_DROP_STATIC: Final = "DELETE FROM static_vectors; DELETE FROM static_model"
_NAMES: Final = ", ".join(f"'{name}'" for name in NAMES.values())

_VALUES: Final = (
    _meta_values(space_in, "space", f"{FORMER}space"),
    _meta_values(suffix_in, "suffix", f"{FORMER}suffix", "left_suffix"),
    _meta_values(int, *GENERATION_KEYS.values(), *(FORMER + key for key in GENERATION_KEYS.values())),
    _meta_values(Fingerprint.from_json, "fingerprint"),
    _meta_values(float, "words_removed_at", mend=_FORGET),
    _meta_values(int, "words_drops", "rows_given", "plain_texts_until", mend=_FORGET),
    _meta_values(list_in, "migration", mend=_FORGET),
    _Values(
        "directories.mounts",
        "SELECT id, mounts FROM directories",
        mounts_in,
        "UPDATE directories SET mounts = '{}' WHERE id = ?",
    ),
    _Values(
        "settled_directories.left_out",
        "SELECT path, left_out FROM settled_directories WHERE left_out <> ''",
        parsed_left_out,
        "DELETE FROM settled_directories WHERE path = ?",
    ),
    _Values(
        "runs",
        f"SELECT id, {RUN_COLUMNS} FROM runs",  # noqa: S608 - constants
        lambda *row: run_record(row),
        "DELETE FROM runs WHERE id = ?",
    ),
    _Values(
        "paused_runs",
        "SELECT run_id, run_id, directories, options, paused_at FROM paused_runs",
        lambda *row: paused_run(row),
        "DELETE FROM paused_runs WHERE run_id = ?",
    ),
    _Values(
        "files.reason",
        "SELECT min(id), state, reason FROM files WHERE state <> 'indexed' GROUP BY state, reason",
        _parse_file_state,
        """UPDATE files SET state = 'failed', reason = 'read', detail = 'its record was damaged', recipe = 0
            WHERE (state, reason) = (SELECT state, reason FROM files WHERE id = ?);
           DELETE FROM settled_directories""",
    ),
    _Values(
        "files.page_starts",
        "SELECT id, page_starts FROM files WHERE page_starts <> ''",
        page_starts_in,
        "UPDATE files SET page_starts = '', recipe = 0 WHERE id = ?; " + _UNSETTLE,  # noqa: S608 - constants
    ),
    _Values(
        "metadata",
        f"""SELECT file_id FROM metadata WHERE name NOT IN ({_NAMES}) OR typeof(value) <> 'text'
            OR name = 'pages' AND (value = '' OR value GLOB '*[^0-9]*')""",  # noqa: S608 - constants
        _reject,
        "UPDATE files SET recipe = 0 WHERE id = ?; DELETE FROM metadata WHERE file_id = ?; " + _UNSETTLE,  # noqa: S608
    ),
    _Values(
        "pending_vectors.vector",
        "SELECT chunk_id, vector, (SELECT value FROM meta WHERE key = 'space') FROM pending_vectors",
        _parse_vector,
        "UPDATE chunks SET is_embedded = 0 WHERE chunk_id = ?; DELETE FROM pending_vectors WHERE chunk_id = ?",
    ),
    _Values("static_vectors", "SELECT id, rows, codes FROM static_vectors", _parse_static_block, _DROP_STATIC),
    _Values(
        "static_model",
        f"SELECT id, weights, mean, own_rows FROM static_model WHERE version = {STATIC_TABLE_VERSION}",  # noqa: S608
        lambda *columns: static_model(*columns),  # noqa: PLW0108 - imported when it is called
        _DROP_STATIC,
    ),
)
"""Every column that holds more than a number, a text or a name, with its parser."""
