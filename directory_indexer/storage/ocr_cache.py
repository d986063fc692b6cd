"""Cache of OCR results, page by page, in a database of its own beside the index.

A page is keyed by everything it is rendered from, so it is read once, whatever happens to its file or to the index.
Deleting the database costs only the time to read the pages again.

The stored results are untrusted bytes: damaged or oversized ones are rejected.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import stat
import time
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from directory_indexer.core.errors import DiskFullError, OcrCacheError
from directory_indexer.core.files import PAGE_UNITS, Box, Line, PageKey, PageProblem, Recognition, Word
from directory_indexer.core.kept_files import file_mode
from directory_indexer.core.paths import well_formed
from directory_indexer.storage.databases import require_disk_space
from directory_indexer.storage.databases.stored_values import parse_text

MAX_ATTEMPTS = 3
"""Attempts for a page that no engine can read, unless the engine says that it never will."""

KEPT_DAYS = 30
"""Days that pages stay which no document has any more."""

_DAY_SECONDS = 86_400
_BUSY_TIMEOUT_SECONDS = 30.0
_SCHEMA_VERSION = 1
_DAMAGE_CODES = frozenset(
    {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH}
)
"""Includes SQLite's error for tables that lack a column."""

_NOT_A_FILE_ERRORS = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO})
_REMOVE_HINT = "remove it; what it holds is read again"
_MAKE_WRITABLE_HINT = "make it writable, or free some disk space; pages wait until then"
_TABLES = """
CREATE TABLE IF NOT EXISTS pages (
    id       INTEGER PRIMARY KEY,
    key      BLOB NOT NULL,
    recipe   TEXT NOT NULL,
    content  BLOB,
    problem  TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0,
    used_on  INTEGER NOT NULL,
    UNIQUE (key, recipe)
);
"""

MAX_BYTES: Final = 64_000_000
"""Decompression limit: half a million words with their positions take half of it."""

_VALID_TURNS: Final = frozenset({0, 90, 180, 270})


class CacheSummary(NamedTuple):
    """The size of a cache."""

    n_pages: int = 0
    n_bytes: int = 0


class OcrCache(NamedTuple):
    """The pages that were read, in the database at a path; a recipe names an engine, its version and its settings.

    Raises:
        OcrCacheError: from all methods but `get`, `finished_pages` and `summary`, if the database cannot be written.
    """

    path: Path

    def get(self, key: PageKey) -> Recognition | PageProblem | None:
        """Return the latest result of reading a page, preferring success; None if it was not read."""
        rows = self._rows(
            "SELECT content, problem, attempts FROM pages WHERE key = ? ORDER BY content IS NULL, id DESC LIMIT 1", key
        )
        for content, problem, attempts in rows:
            if content is None and isinstance(problem, str) and isinstance(attempts, int):
                return PageProblem(problem, is_final=attempts >= MAX_ATTEMPTS)
            with contextlib.suppress(ValueError):  # a damaged entry is read again
                return unpack_page(content)
        return None

    def finished_pages(self) -> set[PageKey]:
        """Return the pages that were read or given up; `get` tells which of them are complete."""
        of_done = "content IS NOT NULL OR attempts >= ?"
        return {PageKey(key) for (key,) in self._rows(f"SELECT key FROM pages WHERE {of_done}", MAX_ATTEMPTS)}  # noqa: S608

    def require_writable(self) -> None:
        """Raise unless pages can be stored, before any is read."""
        self._write(lambda connection: connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}"))

    def put(self, key: PageKey, result: Recognition | PageProblem, *, recipe: str) -> None:
        """Store the result of a page in a transaction of its own; a problem counts as one more attempt."""
        content, problem, attempts = None, "", 0
        if isinstance(result, Recognition):
            content = pack_page(result)
        else:
            problem, attempts = result.message, MAX_ATTEMPTS if result.is_final else 1
        self._write(
            lambda connection: connection.execute(
                """INSERT INTO pages (key, recipe, content, problem, attempts, used_on) VALUES (?, ?, ?, ?, ?, ?)
                   ON CONFLICT (key, recipe) DO UPDATE SET content = excluded.content, problem = excluded.problem,
                   attempts = CASE WHEN excluded.content IS NULL THEN attempts + excluded.attempts ELSE 0 END,
                   used_on = excluded.used_on""",
                (key, recipe, content, well_formed(problem), attempts, _today()),
            )
        )

    def remove_problems_of_other_engines(self, recipe: str) -> list[PageKey]:
        """Remove problems of engines that are no longer used, and return their pages."""
        of_others = "content IS NULL AND recipe <> ?"
        keys = [key for (key,) in self._rows(f"SELECT key FROM pages WHERE {of_others}", recipe)]  # noqa: S608
        if keys:
            self._write(lambda connection: connection.execute(f"DELETE FROM pages WHERE {of_others}", (recipe,)))  # noqa: S608
        return keys

    def keep_only(self, used: Iterable[PageKey]) -> None:
        """Remove all other pages; their content is overwritten."""
        gone = {key for (key,) in self._rows("SELECT DISTINCT key FROM pages")} - set(used)
        if gone:
            keys = [(key,) for key in gone]
            self._write(lambda connection: connection.executemany("DELETE FROM pages WHERE key = ?", keys))

    def prune(self, used: Iterable[PageKey], *, max_bytes: int) -> None:
        """Mark the pages that documents have; remove others after some days, or at once if the cache is too large."""
        if self.path.exists():
            self._write(partial(_prune, used=set(used), max_bytes=max_bytes))

    def clear(self) -> CacheSummary:
        """Remove all pages, and return how many there were."""
        summary = self.summary()
        try:
            for end in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        except OSError as error:
            raise OcrCacheError(f"'{self.path}' cannot be removed: {error.strerror}", hint=_REMOVE_HINT) from error
        return summary

    def summary(self) -> CacheSummary:
        """Return the number of pages that were read, and the bytes on disk."""
        counts = self._rows("SELECT count(*) FROM pages WHERE content IS NOT NULL")
        return CacheSummary(counts[0][0], self.path.stat().st_size) if counts else CacheSummary()

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Query the database if it exists; errors count as no rows, since the cache can be rebuilt."""
        with contextlib.suppress(sqlite3.DatabaseError, OSError):
            if not stat.S_ISREG(self.path.lstat().st_mode):
                return []
            address = f"{self.path.absolute().as_uri()}?mode=ro"
            with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT_SECONDS)) as connection:
                return connection.execute(query, values).fetchall()
        return []

    def _write(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Run a function in a transaction; a database that is damaged, or has other tables, is recreated.

        Raises:
            OcrCacheError: it cannot be written.
        """
        for _ in range(2):
            try:
                self._require_file()
                require_disk_space(self.path)
                with contextlib.closing(sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT_SECONDS)) as connection:
                    connection.executescript(f"PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON; {_TABLES}")
                    with connection:
                        connection.execute("BEGIN IMMEDIATE")
                        work(connection)
            except DiskFullError as error:
                raise OcrCacheError(error.message, hint=_MAKE_WRITABLE_HINT) from error
            except OSError as error:
                hint = _REMOVE_HINT if error.errno in _NOT_A_FILE_ERRORS else _MAKE_WRITABLE_HINT
                raise OcrCacheError(f"'{self.path}' cannot be written: {error.strerror}", hint=hint) from error
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _DAMAGE_CODES:
                    raise OcrCacheError(
                        f"'{self.path}' cannot be written: {error}", hint=_MAKE_WRITABLE_HINT
                    ) from error
                self.clear()
            else:
                return
        raise OcrCacheError(f"'{self.path}' is damaged", hint=_REMOVE_HINT)

    def _require_file(self) -> None:
        """Create the file privately if it does not exist; reject a link, or anything else that is no file."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        opened = os.open(self.path, flags, file_mode())
        try:
            is_file = stat.S_ISREG(os.fstat(opened).st_mode)
        finally:
            os.close(opened)
        if not is_file:
            raise OcrCacheError(f"'{self.path}' is not a file", hint=_REMOVE_HINT)


def create_tables(connection: sqlite3.Connection, _: int) -> None:
    """Create the tables of the cache in an empty database; there is one version of them."""
    connection.executescript(_TABLES)


def pack_page(recognition: Recognition) -> bytes:
    """Pack a result; of an oversized one, the first lines."""
    lines = [[line.block, [[*word[:2], *(word.box or ())] for word in line.words]] for line in recognition.lines]
    written = json.dumps([recognition.engine, recognition.dpi, recognition.turn, lines], ensure_ascii=False).encode(
        "utf-8", "replace"
    )
    if len(written) > MAX_BYTES:
        return pack_page(recognition._replace(lines=recognition.lines[: len(lines) // 2]))
    return zlib.compress(written)


def unpack_page(content: object) -> Recognition:
    """Parse a packed result.

    Raises:
        ValueError: it is invalid.
    """
    try:
        written = _decompress_bounded(content)
        engine, dpi, turn, lines = json.loads(written)
        if turn not in _VALID_TURNS:
            raise ValueError(turn)
        return Recognition(parse_text(engine), tuple(map(_parse_line, lines)), _checked_number(dpi), turn)
    except (TypeError, RecursionError, MemoryError, zlib.error) as error:
        raise ValueError(f"no page: {error}") from error


def _prune(connection: sqlite3.Connection, *, used: set[PageKey], max_bytes: int) -> None:
    today = _today()
    # A clock that was ahead has left days in the future.
    connection.execute("UPDATE pages SET used_on = ?1 WHERE used_on > ?1", (today,))
    connection.executemany(
        "UPDATE pages SET used_on = ? WHERE key = ? AND used_on < ?", [(today, key, today) for key in used]
    )
    connection.execute("DELETE FROM pages WHERE used_on < ?", (today - KEPT_DAYS,))
    n_bytes = connection.execute("SELECT coalesce(sum(length(content)), 0) FROM pages").fetchone()[0]
    if n_bytes > max_bytes:
        rows = connection.execute("SELECT id, key, length(content) FROM pages ORDER BY used_on, id").fetchall()
        for id_, _, size in sorted(rows, key=lambda row: row[1] in used):
            if n_bytes <= max_bytes:
                break
            connection.execute("DELETE FROM pages WHERE id = ?", (id_,))
            n_bytes -= size or 0


def _today() -> int:
    return int(time.time() // _DAY_SECONDS)


def _decompress_bounded(content: Any) -> bytes:
    unpacking = zlib.decompressobj()
    written = unpacking.decompress(content, MAX_BYTES)
    if not unpacking.eof:
        raise ValueError("cut off, or more than a page has")
    return written


def _parse_line(values: Any) -> Line:
    block, words = values
    return Line(tuple(map(_parse_word, words)), _checked_number(block))


def _parse_word(values: Any) -> Word:
    word, confidence, *box = values
    places = [_checked_number(value, PAGE_UNITS) for value in box]
    return Word(parse_text(word), _checked_number(confidence, 100), Box._make(places) if places else None)


def _checked_number(value: object, largest: int = 1 << 31) -> int:
    if not isinstance(value, int) or not 0 <= value <= largest:
        raise ValueError(value)
    return value
