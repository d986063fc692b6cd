"""Damage of a database, and remains of removed content outside its tables."""

from __future__ import annotations

import contextlib
import glob
import time
from collections.abc import Iterator
from pathlib import Path

from directory_indexer.docstore.texts import unpacked
from directory_indexer.lazy import lazily
from directory_indexer.scratch import in_use, scratch_beside

with lazily:
    import sqlite3


def damage_in(connection: sqlite3.Connection) -> list[str]:
    """Return the damage that SQLite finds in pages, indexes other than the full-text one, and types of values.

    Raises:
        sqlite3.OperationalError, zlib.error: a text cannot be read.
    """
    lines = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
    # SQLite 3.44 and newer check the full-text index, too, which can be rebuilt on its own.
    problems = [line for line in lines if line != "ok" and "FTS5 table" not in line]
    if not problems:
        for (stored,) in connection.execute("SELECT text FROM chunk_texts"):
            unpacked(stored)
        _read_texts(connection)
        if column := mistyped(connection):
            problems.append(f"'{column}' of a row is of another type")
    return problems


def mistyped(connection: sqlite3.Connection) -> str:
    """Return a column with a value of another type than declared; empty if there is none."""
    for table, columns in _columns(connection):
        wrong = " ".join(f"WHEN typeof({name}) NOT IN ({_TYPES[kind]}) THEN '{name}'" for name, kind in columns)
        query = f"SELECT * FROM (SELECT CASE {wrong} END AS name FROM {table}) WHERE name IS NOT NULL LIMIT 1"  # noqa: S608
        if row := connection.execute(query).fetchone():
            return f"{table}.{row[0]}"
    return ""


def _read_texts(connection: sqlite3.Connection) -> None:
    """Read every text that is stored uncompressed: names, headings, titles, messages."""
    for table, columns in _columns(connection):
        if names := ", ".join(name for name, kind in columns if kind == "TEXT"):
            for _ in connection.execute(f"SELECT {names} FROM {table}"):  # noqa: S608 - as the schema names them
                pass


def _columns(connection: sqlite3.Connection) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the tables, except those of FTS5 and of packed texts, with the names and types of their columns."""
    tables = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'chunks_*' AND name <> 'chunk_texts'"
    )
    for (table,) in connection.execute(f"{tables} AND name NOT GLOB 'sqlite_*'").fetchall():
        rows = connection.execute("SELECT name, type FROM pragma_table_info(?)", (table,))
        yield table, [(name, kind) for name, kind in rows if kind in _TYPES]


_TYPES = {
    "TEXT": "'text', 'null'",
    "INTEGER": "'integer', 'null'",
    "REAL": "'real', 'null'",
    "BLOB": "'blob', 'null'",
}
"""The SQL types allowed for each declared type of a column."""


def set_aside(path: Path) -> Path:
    """Rename a damaged database, so that a new one can take its place; return its new name."""
    damaged = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return path.rename(damaged)


def remove_damaged(path: Path) -> None:
    """Remove the damaged databases that were set aside."""
    for damaged in _damaged(path):
        with contextlib.suppress(OSError):
            damaged.unlink()


def left_behind(path: Path) -> list[str]:
    """Return messages about what may still contain removed content after compaction."""
    log = path.with_name(path.name + "-wal")
    messages = [f"'{damaged}' cannot be removed, and may tell of it" for damaged in _damaged(path)]
    messages += [f"'{used}' goes with the process that reads a file there" for used in in_use(scratch_beside(path))]
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size:  # a truncated log is empty
            messages.append(
                "another command is reading the index; what it still holds on to leaves the disk with the next run"
            )
    return messages


def _damaged(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.damaged-*"))
