"""Scanned pages of documents: those that wait for OCR, and the results for the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from directory_indexer.core.files import PageKey, Scan, SourceFile
from directory_indexer.core.paths import FilePath, well_formed
from directory_indexer.storage.documents.files import within_condition
from directory_indexer.storage.documents.queries import WHOLE_INDEX, IndexScope, ScopedQueries, TableWrites


class WaitingPage(NamedTuple):
    """A page waiting for OCR, of the document at `path`; `on_disk` is the file or its container."""

    path: FilePath
    on_disk: SourceFile
    directory_id: int
    page: int
    key: PageKey


class ScanCounts(NamedTuple):
    """The number of scanned pages that wait, that were read, and that no engine could read."""

    n_waiting: int = 0
    n_read: int = 0
    n_failed: int = 0


class Scans(ScopedQueries):
    """The scanned pages of one snapshot."""

    def counts(self, scope: IndexScope = WHOLE_INDEX) -> ScanCounts:
        """Return the numbers of scanned pages."""
        condition, arguments = self._files_in(scope)
        query = f"""SELECT coalesce(sum({_WAITS}), 0), coalesce(sum(engine <> ''), 0), coalesce(sum(problem <> ''), 0)
            FROM scans s JOIN files f ON f.id = s.file_id WHERE {condition}"""  # noqa: S608
        return ScanCounts(*self._select(query, *arguments).fetchone())

    def waiting(self, scope: IndexScope = WHOLE_INDEX) -> list[WaitingPage]:
        """Return the pages that wait for OCR: those of documents before those of pictures, newest files first.

        Members of a container keep its order.
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
        """Return the scanned pages of some documents, by path and page."""
        rows = self._rows_for(f"SELECT {_SCAN_COLUMNS} {_OF_FILES} WHERE f.path IN ({{}})", paths)
        return {(path, scan[0]): Scan(*scan) for path, *scan in rows}

    def unread(self, path: FilePath) -> list[int]:
        """Return the numbers of the scanned pages of a document that were not read, in order."""
        return self._values(f"SELECT s.page {_OF_FILES} WHERE f.path = ? AND s.engine = '' ORDER BY 1", path)

    def problems(self, *, within: FilePath | None, limit: int) -> list[tuple[FilePath, Scan]]:
        """Return pages that no engine could read, with their documents."""
        condition, arguments = within_condition(within)
        rows = self._select(
            f"""SELECT {_SCAN_COLUMNS} FROM scans s JOIN files f ON f.id = s.file_id
                WHERE s.problem <> '' AND {condition} ORDER BY f.path, s.page LIMIT ?""",  # noqa: S608
            *(*arguments, limit),
        )
        return [(path, Scan(*scan)) for path, *scan in rows]

    def keys(self) -> Iterator[PageKey]:
        """Yield the keys of all pages."""
        return (key for (key,) in self._select("SELECT DISTINCT key FROM scans"))


class ScanWrites(TableWrites):
    """Writes to the table of scanned pages."""

    def put(self, file_id: int, scans: Sequence[Scan]) -> None:
        """Replace the scanned pages of a file."""
        self._execute("DELETE FROM scans WHERE file_id = ?", file_id)
        self.add([(file_id, scans)])

    def add(self, files: Iterable[tuple[int, Sequence[Scan]]]) -> None:
        """Insert the scanned pages of files that have none yet, each by its row."""
        self._connection.executemany(
            """INSERT OR REPLACE INTO scans (file_id, page, key, engine, confidence, problem)
               VALUES (?, ?, ?, ?, ?, ?)""",
            [(file_id, *scan[:-1], well_formed(scan.problem)) for file_id, scans in files for scan in scans],
        )

    def clear_problems(self, keys: Iterable[PageKey]) -> None:
        """Queue unreadable pages again."""
        self._execute_each("UPDATE scans SET problem = '' WHERE key = ? AND engine = ''", keys)


_WAITS = "s.engine = '' AND s.problem = ''"
_SCAN_COLUMNS = "f.path, s.page, s.key, s.engine, s.confidence, s.problem"
_OF_FILES = "FROM files f JOIN scans s ON s.file_id = f.id"
