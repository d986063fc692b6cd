"""What the index holds of files, and which of them a search may look into."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from directory_indexer.docstore.chunks import ChunkWrites
from directory_indexer.docstore.directories import DirectoryWrites
from directory_indexer.docstore.filters import FileFilter, condition_of, within_condition
from directory_indexer.docstore.known import KNOWN_COLUMNS, FileState, KnownFile, KnownFiles, known_by_path
from directory_indexer.docstore.reading import Reading
from directory_indexer.extractors.document import FileFacts
from directory_indexer.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage
from directory_indexer.ids import ContentHash
from directory_indexer.parsing.outcomes import ParsedFile, UnchangedFile
from directory_indexer.paths import FilePath, well_formed

_STAMP_COLUMNS = "path, size, mtime_ns, changed_ns, inode, is_settled, checked_ns"


_FAILURE_COLUMNS = f"{_STAMP_COLUMNS}, state, reason, detail, broken_hash, broken_recipe"


_EXCLUDED = ", ".join(f"excluded.{name}" for name in _FAILURE_COLUMNS.split(", "))


_FILE_COLUMNS = (
    f"{_STAMP_COLUMNS}, directory_id, state, hash, recipe, {', '.join(FileFacts._fields)}, "
    "page_starts, reason, detail, n_masked, broken_hash, broken_recipe"
)


_FILE_MARKS = ", ".join("?" * len(_FILE_COLUMNS.split(",")))


_ADD_FILE = f"INSERT INTO files ({_FILE_COLUMNS}) VALUES ({_FILE_MARKS})"  # noqa: S608 - made of constants


_CHANGE_FILE = f"UPDATE files SET ({_FILE_COLUMNS}) = ({_FILE_MARKS}) WHERE id = ?"  # noqa: S608 - made of constants


class IndexedFile(NamedTuple):
    """A file with text as the index holds it."""

    id: int
    directory_id: int
    path: FilePath
    size: int
    mtime_ns: int
    checked_ns: int
    n_masked: int
    hash: ContentHash
    facts: FileFacts


class FoundFile(NamedTuple):
    """A file that a filter lets through, by its row and that of its tracked directory."""

    id: int
    path: FilePath
    directory_id: int


class Files(Reading):
    """The files of one moment."""

    def known(self, directory_id: int | None, *, recipe: int) -> KnownFiles:
        """Prepare a comparison with what is known of the files of a tracked directory, extracted in a certain way."""
        return KnownFiles(self._connection, directory_id, recipe=recipe)

    def within(self, path: FilePath) -> dict[FilePath, KnownFile]:
        """Load what is known of a file, or of everything below a directory."""
        condition, arguments = within_condition(path)
        rows = self._connection.execute(
            f"SELECT {KNOWN_COLUMNS} FROM files f WHERE {condition}",  # noqa: S608
            arguments,
        )
        return known_by_path(rows)

    def get(self, path: FilePath) -> KnownFile | None:
        """Look up one file; None when the index has not met it."""
        rows = self._connection.execute(f"SELECT {KNOWN_COLUMNS} FROM files WHERE path = ?", (path,))  # noqa: S608
        return known_by_path(rows).get(path)

    def page_starts(self, path: FilePath) -> tuple[int, ...]:
        """Give the character at which each page of a file begins; empty when it has no pages."""
        row = self._connection.execute("SELECT page_starts FROM files WHERE path = ?", (path,)).fetchone()
        return tuple(map(int, row[0].split())) if row else ()

    def holds(self, path: FilePath) -> bool:
        """Tell whether a path is tracked, or lies in or around what is."""
        condition, arguments = within_condition(path)
        query = f"SELECT EXISTS (SELECT 1 FROM files f WHERE {condition})"  # noqa: S608 - made of constants
        return bool(
            self._count(query, arguments)
            or self._count("SELECT EXISTS (SELECT 1 FROM directories WHERE path = ?)", [path])
        )

    def matching(self, wanted: FileFilter) -> list[FoundFile]:
        """List the files that a filter lets through."""
        condition, arguments = condition_of(wanted)
        query = f"SELECT f.id, f.path, f.directory_id FROM files f WHERE {condition}"  # noqa: S608 - made of constants
        return list(map(FoundFile._make, self._connection.execute(query, arguments)))

    def in_order(self, wanted: FileFilter) -> Iterator[IndexedFile]:
        """Give the files that a filter lets through one after the other, sorted by path."""
        condition, arguments = condition_of(wanted)
        columns = (*IndexedFile._fields[:-1], *FileFacts._fields)
        rows = self._connection.execute(
            f"SELECT {', '.join(columns)} FROM files f WHERE {condition} ORDER BY path",  # noqa: S608
            arguments,
        )
        n_own = len(columns) - len(FileFacts._fields)
        return (IndexedFile._make((*row[:n_own], FileFacts._make(row[n_own:]))) for row in rows)

    def starting_with(self, text: str) -> list[FilePath]:
        """List the indexed files whose paths begin with a text."""
        return self._indexed("path >= ? AND path < ?", [text, text + chr(0x10FFFF)])

    def containing(self, text: str) -> list[FilePath]:
        """List the indexed files whose paths hold a text, in whatever case."""
        return self._indexed("instr(lower(path), lower(?))", [text])

    def in_other_case(self, paths: Sequence[FilePath]) -> list[FilePath]:
        """List the indexed files that have one of these paths, in whatever case."""
        return self._indexed(f"lower(path) IN ({','.join(['lower(?)'] * len(paths))})", paths)

    def _indexed(self, condition: str, arguments: Sequence[object]) -> list[FilePath]:
        rows = self._connection.execute(
            f"SELECT path FROM files WHERE state = 'indexed' AND {condition}",  # noqa: S608 - made of constants
            arguments,
        )
        return [FilePath(path) for (path,) in rows]

    def failures(self, *, within: FilePath | None, limit: int) -> tuple[FileFailure, ...]:
        """List the files and directories that the last run could not process, and chunks that were refused."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"""SELECT path, reason, detail, broken_hash FROM files f WHERE state = 'failed' AND {condition}
                UNION ALL
                SELECT f.path, 'embed', 'chunk ' || (c.ordinal + 1) || ': ' || r.reason, NULL FROM refused_chunks r
                JOIN chunks c ON c.id = r.id JOIN files f ON f.id = c.file_id WHERE {condition}
                ORDER BY path LIMIT ?""",  # noqa: S608
            [*arguments, *arguments, limit],
        )
        return tuple(FileFailure(FilePath(row[0]), Stage(row[1]), row[2], hash=row[3]) for row in rows)

    def skipped(self, *, within: FilePath | None, limit: int) -> tuple[SkippedFile, ...]:
        """List the files that were left out, with reason and detail."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"SELECT path, reason, detail FROM files f WHERE state = 'skipped' AND {condition} ORDER BY path LIMIT ?",  # noqa: S608
            [*arguments, limit],
        )
        return tuple(SkippedFile(FilePath(path), SkipReason(reason), detail) for path, reason, detail in rows)


class FileWrites:
    """Put files in and take them out."""

    def __init__(self, connection: sqlite3.Connection, directories: DirectoryWrites, chunks: ChunkWrites) -> None:
        self._connection = connection
        self._directories = directories
        self._chunks = chunks

    def put(self, directory_id: int, parsed: ParsedFile, *, recipe: int) -> None:
        """Put a file in, in the place of what the index held of it."""
        source = parsed.source
        self._directories.unsettle_around(source.path)
        self._chunks.remove_of(source.path)
        file_id = self._put_row(
            source.path,
            (
                *_stamp_values(source, parsed.seen_ns),
                *(directory_id, FileState.INDEXED, parsed.hash, recipe, *parsed.facts),
                *(" ".join(map(str, parsed.page_starts)), "", "", parsed.n_masked, None, None),
            ),
        )
        self._chunks.add(file_id, parsed)

    def put_skipped(self, directory_id: int, skipped: SkippedFile, *, recipe: int) -> None:
        """Note why a file is left out; what the index held of it goes."""
        self._directories.unsettle_around(skipped.path)
        self._chunks.remove_of(skipped.path)
        self._put_row(
            skipped.path,
            (
                *_stamp_values(skipped.source or SourceFile(skipped.path, 0, 0), skipped.seen_ns),
                *(directory_id, FileState.SKIPPED, None, recipe, *FileFacts(), ""),
                *(skipped.reason, well_formed(skipped.detail), 0, None, None),
            ),
        )

    def put_failure(self, directory_id: int, failure: FileFailure, *, recipe: int) -> None:
        """Note why a file could not be processed; its text from an earlier run stays until there is a newer one."""
        self._directories.unsettle_around(failure.path)
        values = (
            *_stamp_values(failure.source or SourceFile(failure.path, 0, 0), failure.seen_ns),
            *(
                FileState.FAILED,
                failure.stage,
                well_formed(failure.message),
                failure.hash,
                recipe if failure.hash else None,
            ),
        )
        self._connection.execute(
            f"""INSERT INTO files ({_FAILURE_COLUMNS}, directory_id, recipe)
                VALUES ({", ".join("?" * len(values))}, ?, 0)
                ON CONFLICT (path) DO UPDATE SET ({_FAILURE_COLUMNS}) = ({_EXCLUDED})""",  # noqa: S608 - made of constants
            (*values, directory_id),
        )

    def renew_stamps(self, unchanged: Sequence[UnchangedFile]) -> None:
        """Note new stamps of files whose bytes are what the index holds."""
        for one in unchanged:
            self._directories.unsettle_around(one.source.path)
        self._connection.executemany(
            f"""UPDATE files SET ({_STAMP_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?),
                    state = 'indexed', reason = '', detail = '', broken_hash = NULL, broken_recipe = NULL
                WHERE path = ?""",  # noqa: S608 - made of constants
            [(*_stamp_values(one.source, one.seen_ns), one.source.path) for one in unchanged],
        )

    def remove(self, paths: Iterable[FilePath]) -> None:
        """Take files out of the index."""
        for path in paths:
            self._directories.unsettle_around(path)
            self._chunks.remove_of(path)
            self._connection.execute("DELETE FROM files WHERE path = ?", (path,))

    def _put_row(self, path: FilePath, values: Sequence[object]) -> int:
        # An upsert, or RETURNING, might have to be taken back by itself. So SQLite would let FTS5 write what it has
        # gathered before each of them: a segment for every file, and a quarter of the time of a batch.
        row = self._connection.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            return int(self._connection.execute(_ADD_FILE, values).lastrowid or 0)
        self._connection.execute(_CHANGE_FILE, (*values, row[0]))
        return int(row[0])


def _stamp_values(source: SourceFile, seen_ns: int) -> tuple[object, ...]:
    return (*source, source.is_settled(seen_ns), seen_ns)
