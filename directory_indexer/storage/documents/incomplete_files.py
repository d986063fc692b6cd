"""Files that are not completely searchable: skipped and failed files, refused passages, scanned pages without text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from directory_indexer.core.files import FileFailure, PageKey, Scan, SkippedFile, SkipReason, SourceFile, Stage
from directory_indexer.core.paths import FilePath, well_formed
from directory_indexer.storage.databases.stored_values import parse_stored, parse_text
from directory_indexer.storage.documents import (
    WHOLE_INDEX,
    IndexScope,
    ScopedQueries,
    SnapshotQueries,
    TableWrites,
    placeholders,
)
from directory_indexer.storage.documents.files import within_condition
from directory_indexer.storage.documents.shared_texts import HAS_TEXT


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
        query = f"""SELECT coalesce(sum({_IS_WAITING}), 0), coalesce(sum(engine <> ''), 0),
            coalesce(sum(problem <> ''), 0) FROM scans s JOIN files f ON f.id = s.file_id WHERE {condition}"""  # noqa: S608
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
                WHERE {_IS_WAITING} AND {condition}
                ORDER BY f.path LIKE '%.pdf' DESC, d.mtime_ns DESC, d.id, f.id, s.page""",  # noqa: S608
            arguments,
        )
        return [
            WaitingPage(FilePath(path), SourceFile(*on_disk), directory_id, page, PageKey(key))
            for path, *on_disk, directory_id, page, key in rows
        ]

    def scans_of(self, paths: Iterable[FilePath]) -> dict[tuple[FilePath, int], Scan]:
        """Return the scanned pages of some documents, by path and page."""
        rows = self._rows_for(f"SELECT {_SCAN_COLUMNS} {_FROM_SCANS_OF_FILES} WHERE f.path IN ({{}})", paths)
        return {(path, scan[0]): Scan(*scan) for path, *scan in rows}

    def unread(self, path: FilePath) -> list[int]:
        """Return the numbers of the scanned pages of a document that were not read, in order."""
        return self._values(f"SELECT s.page {_FROM_SCANS_OF_FILES} WHERE f.path = ? AND s.engine = '' ORDER BY 1", path)

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


_IS_WAITING = "s.engine = '' AND s.problem = ''"
_SCAN_COLUMNS = "f.path, s.page, s.key, s.engine, s.confidence, s.problem"
_FROM_SCANS_OF_FILES = "FROM files f JOIN scans s ON s.file_id = f.id"


class CoverageGap(NamedTuple):
    """A part of a file that no search can find: all of it, or a number of its passages or pages."""

    path: FilePath
    reason: str
    number: int = 1


class IncompleteFile(NamedTuple):
    """A file that is not completely in the index, and why.

    The reason is a skip reason, or one of failed, refused, waiting and unreadable.
    """

    path: FilePath
    reason: str
    detail: str


class IncompleteFiles(SnapshotQueries):
    """The skipped and failed files of one snapshot."""

    def gaps(self, reasons: tuple[str, ...]) -> tuple[CoverageGap, ...]:
        """Return what no search can find of the tracked files, where files were skipped for one of these reasons.

        Pages waiting for OCR and passages that the provider refuses are listed by file; a file with waiting pages is
        not listed as a file without text.
        """
        return self._compute_once(f"gaps {' '.join(reasons)}", lambda: self._read_gaps(reasons))

    def unfinished_directories(self) -> tuple[FilePath, ...]:
        """Return the tracked directories that no run has completed."""
        return tuple(self._values("SELECT path FROM directories WHERE completed_at IS NULL ORDER BY path"))

    def counts(self, within: FilePath | None) -> tuple[tuple[str, int], ...]:
        """Return the number of failed and of skipped files by reason, most frequent first."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"""SELECT iif(state = 'failed', 'failed', reason), count(*) FROM files f
                WHERE state IN ('failed', 'skipped') AND {condition} GROUP BY 1
                UNION ALL
                SELECT 'refused', count(*) FROM refused_chunks r CROSS JOIN chunks c ON c.id = r.id
                CROSS JOIN files f ON {HAS_TEXT} WHERE {condition} HAVING count(*)
                UNION ALL
                SELECT iif(s.problem = '', 'waiting', 'unreadable'), count(*)
                FROM scans s JOIN files f ON f.id = s.file_id
                WHERE s.engine = '' AND {condition} GROUP BY s.problem = ''
                ORDER BY 2 DESC, 1""",  # noqa: S608
            arguments * 3,
        )
        return tuple(rows)

    def listed(self, within: FilePath | None, *, reason: str, limit: int, offset: int) -> tuple[IncompleteFile, ...]:
        """Return files that failed or were skipped for a reason of `counts`, or for any, sorted by path."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"""SELECT path, reason, detail FROM (
                SELECT path, iif(state = 'failed', 'failed', reason) AS reason,
                    iif(state = 'failed', reason || ': ' || detail, detail) AS detail
                FROM files f WHERE state IN ('failed', 'skipped') AND {condition}
                UNION ALL
                SELECT f.path, 'refused', 'passage ' || (c.ordinal + 1) || ': ' || r.reason FROM refused_chunks r
                JOIN chunks c ON c.id = r.id JOIN files f ON {HAS_TEXT} WHERE {condition}
                UNION ALL
                SELECT f.path, iif(s.problem = '', 'waiting', 'unreadable'),
                    'page ' || s.page || iif(s.problem = '', '', ': ') || s.problem
                FROM scans s JOIN files f ON f.id = s.file_id WHERE s.engine = '' AND {condition})
                WHERE ? IN ('', reason) ORDER BY reason != 'failed', path, detail LIMIT ? OFFSET ?""",  # noqa: S608
            [*arguments, *arguments, *arguments, reason, limit, offset],
        )
        return tuple(
            IncompleteFile(path, parse_stored("files.reason", parse_text, reason), _parse_detail(detail))
            for path, reason, detail in rows
        )

    def skip_reasons_containing(self, words: str) -> list[tuple[str, int]]:
        """Return why files are skipped, where the reason has these words, each with the number of files."""
        query = "SELECT detail, count(*) FROM files WHERE state = 'skipped' AND instr(detail, ?) GROUP BY detail"
        return self._select(query, words).fetchall()

    def _read_gaps(self, reasons: tuple[str, ...]) -> tuple[CoverageGap, ...]:
        # CROSS JOIN fixes the order: directories first, since there is an index by directory and state, and refused
        # passages first, since otherwise all chunks are read.
        rows = self._connection.execute(
            f"""SELECT f.path, CASE f.state WHEN 'failed' THEN 'failed' ELSE f.reason END, 1
               FROM directories d CROSS JOIN files f ON f.directory_id = d.id AND f.state IN ('failed', 'skipped')
               WHERE (f.state = 'failed' OR f.reason IN ({placeholders(reasons)}))
               AND NOT EXISTS (SELECT 1 FROM scans s WHERE s.file_id = f.id AND s.engine = '' AND s.problem = '')
               UNION ALL
               SELECT f.path, iif(s.problem = '', 'waiting', 'unreadable'), count(*)
               FROM scans s JOIN files f ON f.id = s.file_id WHERE s.engine = '' GROUP BY f.id, s.problem = ''
               UNION ALL
               SELECT f.path, 'refused', count(*) FROM refused_chunks r CROSS JOIN chunks c ON c.id = r.id
               CROSS JOIN files f ON {HAS_TEXT} GROUP BY f.id""",  # noqa: S608 - made of marks
            reasons,
        )
        return tuple(map(CoverageGap._make, rows))

    def failures(self, *, within: FilePath | None, limit: int) -> tuple[FileFailure, ...]:
        """Return the files and directories that the last run could not process, and refused chunks."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"""SELECT path, reason, detail, broken_hash FROM files f WHERE state = 'failed' AND {condition}
                UNION ALL
                SELECT f.path, 'embed', 'chunk ' || (c.ordinal + 1) || ': ' || r.reason, NULL FROM refused_chunks r
                JOIN chunks c ON c.id = r.id JOIN files f ON {HAS_TEXT} WHERE {condition}
                ORDER BY path LIMIT ?""",  # noqa: S608
            [*arguments, *arguments, limit],
        )
        return tuple(
            FileFailure(path, parse_stored("files.reason", Stage, stage), _parse_detail(detail), hash=digest)
            for path, stage, detail, digest in rows
        )

    def skipped(self, *, within: FilePath | None, limit: int) -> tuple[SkippedFile, ...]:
        """Return the skipped files, with reason and detail."""
        condition, arguments = within_condition(within)
        query = (
            f"SELECT path, reason, detail FROM files f WHERE state = 'skipped' AND {condition} ORDER BY path LIMIT ?"  # noqa: S608
        )
        return tuple(
            SkippedFile(path, parse_stored("files.reason", SkipReason, reason), _parse_detail(detail))
            for path, reason, detail in self._select(query, *arguments, limit)
        )


def _parse_detail(value: object) -> str:
    return parse_stored("files.detail", parse_text, value)
