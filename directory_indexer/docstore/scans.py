"""The pages of documents that are pictures of text: those that wait for OCR, and what it came to for the others."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from directory_indexer.docstore.filters import within_condition
from directory_indexer.docstore.index_scope import WHOLE_INDEX, IndexScope, ScopedReading
from directory_indexer.docstore.reading import batches, marks
from directory_indexer.files import SourceFile
from directory_indexer.paths import FilePath, well_formed
from directory_indexer.scans import PageKey, Scan


class WaitingPage(NamedTuple):
    """A page that is to be read, of the document at `path`; `on_disk` is the file, or the container that it lies in."""

    path: FilePath
    on_disk: SourceFile
    directory_id: int
    page: int
    key: PageKey


class ScanCounts(NamedTuple):
    """How many pages are pictures: those that wait, that were read, and that no engine could read."""

    n_waiting: int = 0
    n_read: int = 0
    n_failed: int = 0


class Scans(ScopedReading):
    """The pages of one moment that are pictures."""

    def counts(self, scope: IndexScope = WHOLE_INDEX) -> ScanCounts:
        """Count the pages."""
        condition, arguments = self._files_in(scope)
        row = self._connection.execute(
            f"""SELECT coalesce(sum({_WAITS}), 0), coalesce(sum(engine <> ''), 0), coalesce(sum(problem <> ''), 0)
                FROM scans s JOIN files f ON f.id = s.file_id WHERE {condition}""",  # noqa: S608
            arguments,
        ).fetchone()
        return ScanCounts(*row)

    def waiting(self, scope: IndexScope = WHOLE_INDEX) -> list[WaitingPage]:
        """List the pages that are to be read: of documents before those of pictures, of the newest files first.

        Members of a container come in the order in which it holds them.
        """
        condition, arguments = self._files_in(scope)
        rows = self._connection.execute(
            f"""SELECT f.path, d.path, d.size, d.mtime_ns, d.changed_ns, d.inode, f.directory_id, s.page, s.key
                FROM scans s INDEXED BY scans_that_wait
                JOIN files f ON f.id = s.file_id JOIN files d ON d.id = coalesce(f.container_id, f.id)
                WHERE {_WAITS} AND {condition}
                ORDER BY f.path LIKE '%.pdf' DESC, d.mtime_ns DESC, d.id, f.id, s.page""",  # noqa: S608
            arguments,
        )
        return [
            WaitingPage(FilePath(path), SourceFile(*on_disk), directory_id, page, PageKey(key))
            for path, *on_disk, directory_id, page, key in rows
        ]

    def of(self, paths: Iterable[FilePath]) -> dict[tuple[FilePath, int], Scan]:
        """Give the pages of some documents that are pictures, by path and page."""
        found: dict[tuple[FilePath, int], Scan] = {}
        for batch in batches(paths):
            rows = self._connection.execute(
                f"""SELECT f.path, s.page, s.key, s.engine, s.confidence, s.problem
                    FROM files f JOIN scans s ON s.file_id = f.id WHERE f.path IN ({marks(batch)})""",  # noqa: S608
                batch,
            )
            found.update(((FilePath(path), page), Scan(page, *rest)) for path, page, *rest in rows)
        return found

    def unread(self, path: FilePath) -> list[int]:
        """List the pages of a document, in order, that are pictures and were not read."""
        rows = self._connection.execute(
            "SELECT s.page FROM files f JOIN scans s ON s.file_id = f.id WHERE f.path = ? AND s.engine = '' ORDER BY 1",
            (path,),
        )
        return [page for (page,) in rows]

    def problems(self, *, within: FilePath | None, limit: int) -> list[tuple[FilePath, Scan]]:
        """List pages that no engine could read, with the documents that they belong to."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"""SELECT f.path, s.page, s.key, s.engine, s.confidence, s.problem FROM scans s
                JOIN files f ON f.id = s.file_id
                WHERE s.problem <> '' AND {condition} ORDER BY f.path, s.page LIMIT ?""",  # noqa: S608
            [*arguments, limit],
        )
        return [(FilePath(path), Scan(*rest)) for path, *rest in rows]

    def keys(self) -> Iterator[PageKey]:
        """Give what every page is drawn from."""
        return (PageKey(key) for (key,) in self._connection.execute("SELECT DISTINCT key FROM scans"))


class ScanWrites:
    """Note which pages are pictures."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, file_id: int, scans: Sequence[Scan]) -> None:
        """Note the pages of a file, in the place of those noted before."""
        self._connection.execute("DELETE FROM scans WHERE file_id = ?", (file_id,))
        self.add([(file_id, scans)])

    def add(self, files: Iterable[tuple[int, Sequence[Scan]]]) -> None:
        """Note the pages of files, each by its row, of which none were noted before."""
        self._connection.executemany(
            """INSERT OR REPLACE INTO scans (file_id, page, key, engine, confidence, problem)
               VALUES (?, ?, ?, ?, ?, ?)""",
            [(file_id, *one[:-1], well_formed(one.problem)) for file_id, scans in files for one in scans],
        )

    def have_wait(self, keys: Iterable[PageKey]) -> None:
        """Have pages wait again that could not be read."""
        self._connection.executemany(
            "UPDATE scans SET problem = '' WHERE key = ? AND engine = ''", [(key,) for key in keys]
        )


_WAITS = "s.engine = '' AND s.problem = ''"
