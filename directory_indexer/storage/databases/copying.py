"""Consistent copies of SQLite databases, and checks of databases from elsewhere before they are used.

A database can contain code: triggers and views run when its tables are used, and virtual tables do what their module
makes of their arguments. So a database from elsewhere must have exactly the tables that this program creates.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from directory_indexer.core.durable_files import sync_path
from directory_indexer.core.errors import StoreError
from directory_indexer.core.permissions import file_mode


def copy_database(source: Path, target: Path) -> None:
    """Copy a database to a new file that only this user can read, and flush it to the disk.

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
            # The copy is one file, without a log.
            writer.execute("PRAGMA journal_mode = DELETE")
        sync_path(target)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"'{source}' cannot be copied to '{target}': {error}", hint="free some disk space") from error


def require_known_schema(path: Path, make: Callable[[sqlite3.Connection, int], None], *, name: str) -> None:
    """Ensure that a closed database is intact, and has exactly the tables of its version.

    `make` creates the tables of a version in an empty database; `name` is used in messages.

    Raises:
        StoreError: it is damaged, not a database, of a newer version, or has other tables, triggers or views.
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
        raise StoreError(f"'{name}' is damaged: {'; '.join(damage[:3])}", hint=ANOTHER_BACKUP_HINT)


def _expected_schema(make: Callable[[sqlite3.Connection, int], None], version: int) -> set[_SchemaEntry]:
    with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        make(fresh, version)
        return set(_schema_of(fresh))


def _require_schema(connection: sqlite3.Connection, expected: set[_SchemaEntry], *, name: str) -> None:
    if foreign := set(_schema_of(connection)) ^ expected:
        entries = ", ".join(sorted({" ".join(entry[:2]) for entry in foreign})[:3])
        raise StoreError(f"'{name}' does not have the tables of dirindex: {entries}", hint=ANOTHER_BACKUP_HINT)


def _schema_of(connection: sqlite3.Connection) -> Iterator[_SchemaEntry]:
    """Yield the schema, except for what SQLite creates itself: indexes of constraints, and statistics.

    Names do not distinguish them: a hand-written schema may call a trigger `sqlite_x`.
    """
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        if not (kind == "index" and sql is None) and not (kind == "table" and name in _SQLITE_TABLES):
            yield kind, name, table, _INSIGNIFICANT_IN_SQL.sub("", sql or "").lower()


_SchemaEntry: TypeAlias = tuple[str, str, str, str]
_SQLITE_TABLES: Final = frozenset({"sqlite_sequence", "sqlite_stat1", "sqlite_stat4"})
_INSIGNIFICANT_IN_SQL: Final = re.compile(r"[\s\"'`]+")
"""White space, and quotation marks, which some versions of SQLite put around names when they alter a table."""
ANOTHER_BACKUP_HINT: Final = "take another backup"


def enable_wal(path: Path) -> None:
    """Switch a copied database to write-ahead logging, so that it can be read while it is written.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise StoreError(f"'{path}' cannot be written: {error}", hint="choose another place with --data-dir") from error
