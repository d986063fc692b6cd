"""Copies a database of SQLite as it is at one moment, whoever writes to it meanwhile."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

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


def require_whole(path: Path) -> None:
    """Let SQLite look at every page of a database that nobody has open.

    Raises:
        StoreError: it is damaged, or none.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = [row[0] for row in connection.execute("PRAGMA quick_check")]
    except sqlite3.Error as error:
        found = [str(error)]
    if found != ["ok"]:
        raise StoreError(f"'{path}' is damaged: {'; '.join(found[:3])}", hint="take another backup")


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
