"""Keeps what OCR has read, page by page, in a database of its own beside the index.

A page is found by what it is drawn from, so it is read once, whatever happens to its file or to the index. Deleting
the database loses nothing but the time to read the pages again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from directory_indexer.errors import StoreError
from directory_indexer.paths import well_formed
from directory_indexer.scans import Box, Line, PageKey, PageProblem, Recognition, Word

MAX_ATTEMPTS = 3
"""So often a page is tried that no engine can read, unless the engine says that it never will."""

KEPT_DAYS = 30
"""So long pages stay that no document has any more."""

_DAY_SECONDS = 86_400
_SECONDS = 30.0
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


class CacheSummary(NamedTuple):
    """How much a cache holds."""

    n_pages: int = 0
    n_bytes: int = 0


class PageCache(NamedTuple):
    """The pages that were read, in the database at a path; a recipe names an engine, its version and its settings."""

    path: Path

    def get(self, key: PageKey) -> Recognition | PageProblem | None:
        """Give what reading a page came to, the last that went well first; None while nothing has read it."""
        rows = self._rows(
            "SELECT content, problem, attempts FROM pages WHERE key = ? ORDER BY content IS NULL, id DESC LIMIT 1", key
        )
        for content, problem, attempts in rows:
            if content is None:
                return PageProblem(problem, is_final=attempts >= MAX_ATTEMPTS)
            with contextlib.suppress(ValueError, TypeError, zlib.error):  # what is damaged is read again
                return _recognition(content)
        return None

    def put(self, key: PageKey, found: Recognition | PageProblem, *, recipe: str) -> None:
        """Keep what reading a page came to, in a transaction of its own; a problem counts as one more attempt."""
        content, problem, attempts = None, "", 0
        if isinstance(found, Recognition):
            content = _packed(found)
        else:
            problem, attempts = found.message, MAX_ATTEMPTS if found.is_final else 1
        self._write(
            lambda connection: connection.execute(
                """INSERT INTO pages (key, recipe, content, problem, attempts, used_on) VALUES (?, ?, ?, ?, ?, ?)
                   ON CONFLICT (key, recipe) DO UPDATE SET content = excluded.content, problem = excluded.problem,
                   attempts = CASE WHEN excluded.content IS NULL THEN attempts + excluded.attempts ELSE 0 END,
                   used_on = excluded.used_on""",
                (key, recipe, content, well_formed(problem), attempts, _today()),
            )
        )

    def take_problems_of_others(self, recipe: str) -> list[PageKey]:
        """Take out what engines could not read that are not used any more, and name the pages."""
        of_others = "content IS NULL AND recipe <> ?"
        keys = [key for (key,) in self._rows(f"SELECT key FROM pages WHERE {of_others}", recipe)]  # noqa: S608
        if keys:
            self._write(lambda connection: connection.execute(f"DELETE FROM pages WHERE {of_others}", (recipe,)))  # noqa: S608
        return keys

    def keep_only(self, used: Iterable[PageKey]) -> None:
        """Take all other pages out; what they held is overwritten."""
        gone = {key for (key,) in self._rows("SELECT DISTINCT key FROM pages")} - set(used)
        if gone:
            keys = [(key,) for key in gone]
            self._write(lambda connection: connection.executemany("DELETE FROM pages WHERE key = ?", keys))

    def prune(self, used: Iterable[PageKey], *, max_bytes: int) -> None:
        """Note which pages documents have; others go after a while, or at once as far as the cache is too large."""
        if self.path.exists():
            self._write(partial(_prune, used=set(used), max_bytes=max_bytes))

    def clear(self) -> CacheSummary:
        """Take all pages out, and tell how many those were."""
        summary = self.summary()
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        return summary

    def summary(self) -> CacheSummary:
        """Count the pages that were read, and the bytes on disk."""
        counts = self._rows("SELECT count(*) FROM pages WHERE content IS NOT NULL")
        return CacheSummary(counts[0][0], self.path.stat().st_size) if counts else CacheSummary()

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the database if there is one; what cannot be read is as good as nothing, for it can be made again."""
        with contextlib.suppress(sqlite3.DatabaseError):
            address = f"{self.path.absolute().as_uri()}?mode=ro"
            with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_SECONDS)) as connection:
                return connection.execute(query, values).fetchall()
        return []

    def _write(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Do something in a transaction; a database that is damaged is made anew.

        Raises:
            StoreError: it cannot be written.
        """
        for _ in range(2):
            try:
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
                with contextlib.closing(sqlite3.connect(self.path, timeout=_SECONDS)) as connection:
                    connection.executescript(f"PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON; {_TABLES}")
                    with connection:
                        work(connection)
            except (OSError, sqlite3.OperationalError) as error:
                raise StoreError(f"'{self.path}' cannot be written: {error}") from error
            except sqlite3.DatabaseError:
                self.clear()
            else:
                return
        raise StoreError(f"'{self.path}' is damaged", hint="remove it; what it holds is read again")


def _prune(connection: sqlite3.Connection, *, used: set[PageKey], max_bytes: int) -> None:
    today = _today()
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


def _packed(found: Recognition) -> bytes:
    lines = [[line.block, [[*word[:2], *(word.box or ())] for word in line.words]] for line in found.lines]
    return zlib.compress(
        json.dumps([found.engine, found.dpi, found.turn, lines], ensure_ascii=False).encode("utf-8", "replace")
    )


def _recognition(content: bytes) -> Recognition:
    engine, dpi, turn, lines = json.loads(zlib.decompress(content))
    return Recognition(engine, tuple(Line(tuple(map(_word, words)), block) for block, words in lines), dpi, turn)


def _word(values: list[object]) -> Word:
    text, confidence, *box = values
    return Word(text, confidence, Box._make(box) if box else None)  # type: ignore[arg-type]


def _today() -> int:
    return int(time.time() // _DAY_SECONDS)
