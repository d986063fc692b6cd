"""Translation of errors of SQLite and of the disk into those of this program."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path

from directory_indexer.core.errors import REBUILD, CorruptIndexError, DiskFullError, StoreError
from directory_indexer.storage.databases.connections import FREE_SPACE, is_disk_full
from directory_indexer.storage.databases.stored_values import DamagedValueError


@contextlib.contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Translate errors of SQLite and of the disk."""
    try:
        yield
    except DamagedValueError as error:
        raise CorruptIndexError(f"{path}: '{error.column}' of a row is damaged", hint=REPAIR_HINT) from error
    except sqlite3.Error as error:
        if str(error).startswith("Could not decode"):  # raised by the sqlite3 module without an error code
            raise CorruptIndexError(f"{path}: text in it is damaged", hint=REBUILD) from error
        if is_disk_full(error):
            raise DiskFullError(f"{path}: no space left on device ({error})", hint=FREE_SPACE) from error
        detailed = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        code = detailed & 0xFF
        hint = _HINTS.get(detailed) or _HINTS.get(code, _CHECK)
        raise _ERRORS.get(code, StoreError)(f"{path}: {error}", hint=hint) from error
    except (UnicodeDecodeError, zlib.error) as error:
        # The program wrote valid text; the sqlite3 module fails to decode names and messages that are damaged.
        raise CorruptIndexError(f"{path}: text in it is damaged", hint=REBUILD) from error
    except OSError as error:
        if not isinstance(error.filename, str | Path) or Path(error.filename) not in {path, *path.parents}:
            raise
        raise StoreError(f"{error.filename}: {error.strerror}", hint="choose another place with --data-dir") from error


REPAIR_HINT = "dirindex doctor --repair mends it, or sets the database aside and builds the index again"
_CHECK = "dirindex doctor checks the index"
_ERRORS = {sqlite3.SQLITE_CORRUPT: CorruptIndexError, sqlite3.SQLITE_NOTADB: CorruptIndexError}
_HINTS = {
    sqlite3.SQLITE_READONLY: "make the index directory writable, or choose another one with --data-dir",
    sqlite3.SQLITE_CANTOPEN: "make the index directory readable and writable, or choose another with --data-dir; "
    "when too many files are open, ulimit -n raises the limit",
    sqlite3.SQLITE_IOERR: "the disk reported an error: check it, then run dirindex doctor",
    sqlite3.SQLITE_BUSY: "another process has stopped in the middle of a write: dirindex status shows which",
    sqlite3.SQLITE_CORRUPT: REBUILD,
    sqlite3.SQLITE_CORRUPT_VTAB: "dirindex doctor --repair builds the full-text index again from the stored texts",
    sqlite3.SQLITE_NOTADB: REBUILD,
}
