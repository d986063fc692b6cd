"""Copies a database of SQLite as it is at one moment, and looks at one that comes from elsewhere before it is used.

A database brings code along: triggers and views run when its tables are used, and virtual tables are whatever their
module makes of their arguments. So one that comes from elsewhere must have the tables that this program makes, and
nothing else.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from directory_indexer.errors import StoreError
from directory_indexer.permissions import file_mode


def copy_database(source: Path, target: Path) -> None:
    """Copy a database to a new file that only this user can read, and have it written to the disk.

    Raises:
        StoreError: it cannot be read, or the copy cannot be written.
    """
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, file_mode()))
        with (
            contextlib.closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as reader,
            contextlib.closing(sqlite3.connect(target)) as writer,
        ):
            reader.backup(writer)
            # The copy is one file, without a log beside it.
            writer.execute("PRAGMA journal_mode = DELETE")
        descriptor = os.open(target, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"'{source}' cannot be copied to '{target}': {error}", hint="free some disk space") from error


def require_expected(path: Path, make: Callable[[sqlite3.Connection, int], None], *, name: str) -> None:
    """Make sure that a database that nobody has open is whole, and has the tables of its version and nothing else.

    `make` makes the tables of a version in an empty database; `name` is that of the database in messages.

    Raises:
        StoreError: it is damaged, no database, of a newer version, or has other tables, or triggers or views.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.executescript("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            _require_schema(connection, _expected_schema(make, version), name=name)
            damage = [row[0] for row in connection.execute("PRAGMA quick_check")]
    except (sqlite3.Error, UnicodeDecodeError) as error:
        damage = [str(error)]
    if damage != ["ok"]:
        raise StoreError(f"'{name}' is damaged: {'; '.join(damage[:3])}", hint=ANOTHER_BACKUP)


def _expected_schema(make: Callable[[sqlite3.Connection, int], None], version: int) -> set[_Entry]:
    with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        make(fresh, version)
        return set(_schema_of(fresh))


def _require_schema(connection: sqlite3.Connection, expected: set[_Entry], *, name: str) -> None:
    if foreign := set(_schema_of(connection)) ^ expected:
        entries = ", ".join(sorted({" ".join(entry[:2]) for entry in foreign})[:3])
        raise StoreError(f"'{name}' does not have the tables of dirindex: {entries}", hint=ANOTHER_BACKUP)


def _schema_of(connection: sqlite3.Connection) -> Iterator[_Entry]:
    """Yield what is declared, but for what SQLite makes by itself: indexes of constraints, and statistics.

    Names do not tell them apart: a schema that was written by hand may call a trigger `sqlite_x`.
    """
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        if not (kind == "index" and sql is None) and not (kind == "table" and name in _OWN_TABLES_OF_SQLITE):
            yield kind, name, table, _NO_MEANING.sub("", sql or "").lower()


_Entry: TypeAlias = tuple[str, str, str, str]
_OWN_TABLES_OF_SQLITE: Final = frozenset({"sqlite_sequence", "sqlite_stat1", "sqlite_stat4"})
_NO_MEANING: Final = re.compile(r"[\s\"'`]+")
"""Blanks, and quotation marks, which versions of SQLite put around names or do not when they alter a table."""
ANOTHER_BACKUP: Final = "take another backup"


def log_ahead(path: Path) -> None:
    """Let a database that was copied be read while it is written, as the one that it was copied from.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise StoreError(f"'{path}' cannot be written: {error}", hint="choose another place with --data-dir") from error
