"""Known files of a tracked directory, for comparison with the files that a run finds.

Most directories are unchanged since they were settled, and nothing of them is read. In the others most files are
unchanged: their stamps are compared as one set, and details are read only of the rest.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from directory_indexer.core.files import SkipReason, SourceFile, Stamp
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.paths import FilePath, prefix_of
from directory_indexer.storage.databases.stored_values import parse_integer, parse_list, parse_stored, parse_text
from directory_indexer.storage.documents import SnapshotQueries
from directory_indexer.storage.documents.schema import PARENT_OF_PATH
from directory_indexer.walk import IgnoredPath, Settled, SettledDirectory

KNOWN_COLUMNS = (
    "path, size, mtime_ns, changed_ns, inode, is_settled, hash, recipe, state, reason, detail, "
    "broken_hash, broken_recipe"
)
"""The columns of a path and its `KnownFile`."""

_STAMP_COLUMNS = "path, size, mtime_ns, changed_ns, inode"
_FROM_FILES_IN_DIRECTORY = (
    f"INDEXED BY files_by_parent WHERE {PARENT_OF_PATH} = ? AND directory_id = ? AND container_id IS NULL"
)
_IS_READ = "state = 'indexed' AND recipe = ?"
_IS_SETTLED = f"is_settled AND {_IS_READ}"


class FileState(StrEnum):
    """The state of a file in the index."""

    INDEXED = "indexed"
    SKIPPED = "skipped"
    FAILED = "failed"


class KnownFile(NamedTuple):
    """The record of a file that an earlier run found.

    Without `is_settled` it was changed just before its stamp was taken, and may have changed again since. `recipe`
    identifies how it was extracted and chunked. `broken_hash` is that of content that crashed a parser, when files
    were read by `broken_recipe`. A tuple for the same reason as `SourceFile`.
    """

    source: SourceFile
    is_settled: bool
    hash: ContentHash | None
    recipe: int
    state: FileState
    reason: str
    detail: str = ""
    broken_hash: ContentHash | None = None
    broken_recipe: int | None = None

    @property
    def no_text_reason(self) -> str:
        """Return why the index has no text of the file."""
        if self.state == FileState.FAILED:
            return f"it could not be indexed: {self.detail or self.reason}; dirindex index tries again"
        if self.state == FileState.INDEXED:
            return "nothing is in it"
        return f"it was skipped: {self.reason}{f', {self.detail}' if self.detail else ''}"


class KnownFiles(SnapshotQueries):
    """The known files of a tracked directory; none if the directory is unknown.

    Members of containers do not count: a run finds them when it reads the container.
    """

    def __init__(
        self, connection: sqlite3.Connection, known: dict[str, object], directory_id: int | None, *, recipe: int
    ) -> None:
        super().__init__(connection, known)
        self._directory_id = directory_id
        self._recipe = recipe

    @cached_property
    def settled(self) -> Settled:
        """The directories that can be skipped while they are unchanged."""

        def read() -> dict[FilePath, SettledDirectory]:
            query = "SELECT path, digest, n_files, left_out FROM settled_directories WHERE directory_id = ?"
            return {row[0]: _settled_directory(*row) for row in self._select(query, self._directory_id)}

        return Settled(self._recipe, self._compute_once(f"settled_directories of {self._directory_id}", read))

    def count(self) -> int:
        """Count all files."""
        row = self._connection.execute(
            """SELECT (SELECT count(*) FROM files WHERE directory_id = ?1) - (
                   SELECT count(*) FROM files INDEXED BY files_in_containers
                   WHERE container_id IS NOT NULL AND directory_id = ?1)""",
            (self._directory_id,),
        )
        return int(row.fetchone()[0])

    def stamps_in(self, directory: FilePath) -> set[Stamp]:
        """Return the stamps of the files of a directory that can be skipped while their stamps are unchanged."""
        rows = self._connection.execute(
            f"SELECT {_STAMP_COLUMNS} FROM files {_FROM_FILES_IN_DIRECTORY} AND {_IS_SETTLED}",  # noqa: S608
            (prefix_of(directory), self._directory_id, self._recipe),
        )
        return set(rows)

    def details_in(self, directory: FilePath, paths: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Return the records of all unsettled files of a directory, and of these paths."""
        rows = self._connection.execute(
            f"""SELECT {KNOWN_COLUMNS} FROM files {_FROM_FILES_IN_DIRECTORY} AND NOT ({_IS_SETTLED})
                UNION ALL SELECT {KNOWN_COLUMNS} FROM files WHERE path IN (SELECT value FROM json_each(?))""",  # noqa: S608
            (prefix_of(directory), self._directory_id, self._recipe, json.dumps(list(paths))),
        )
        return known_by_path(rows)

    def details_outside(self, directories: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Return the records of the files of any other directory."""
        rows = self._connection.execute(
            f"""SELECT {KNOWN_COLUMNS} FROM files
                WHERE directory_id = ? AND container_id IS NULL
                AND {PARENT_OF_PATH} NOT IN (SELECT value FROM json_each(?))""",  # noqa: S608
            (self._directory_id, json.dumps([prefix_of(directory) for directory in directories])),
        )
        return known_by_path(rows)

    def members_of(self, path: FilePath) -> dict[FilePath, ContentHash | None]:
        """Return the members of a container with the hashes of those that the current recipe read; None for others."""
        rows = self._connection.execute(
            f"""SELECT path, CASE WHEN {_IS_READ} THEN hash END FROM files
                WHERE container_id = (SELECT id FROM files WHERE path = ?)""",  # noqa: S608
            (self._recipe, path),
        )
        return dict(rows.fetchall())


def _settled_directory(path: FilePath, digest: bytes, n_files: int, left_out: str) -> SettledDirectory:
    if not left_out:
        return SettledDirectory(digest, n_files)
    skipped, ignored = parse_stored("settled_directories.left_out", parse_skipped_entries, left_out)
    prefix = prefix_of(path)
    return SettledDirectory(
        digest, n_files, skipped, tuple(IgnoredPath(FilePath(prefix + name), rule) for name, rule in ignored)
    )


def parse_skipped_entries(stored: object) -> tuple[tuple[tuple[SkipReason, int], ...], tuple[tuple[str, str], ...]]:
    """Parse the format of `format_skipped_entries`: reasons with their counts, and names with their rules."""
    skipped, ignored = parse_list(stored)
    return (
        tuple((SkipReason(reason), parse_integer(count)) for reason, count in skipped),
        tuple((parse_text(name), parse_text(rule)) for name, rule in ignored),
    )


def format_skipped_entries(path: FilePath, settled: SettledDirectory) -> str:
    """Return JSON of the skipped and ignored entries of a settled directory."""
    if not settled.skipped and not settled.ignored:
        return ""
    start = len(prefix_of(path))
    return json.dumps([settled.skipped, [(ignored.path[start:], ignored.rule) for ignored in settled.ignored]])


def known_by_path(rows: Iterable[tuple[object, ...]]) -> dict[FilePath, KnownFile]:
    """Return the records of rows of `KNOWN_COLUMNS`, by path."""
    return {row[0]: KnownFile(SourceFile._make(row[:5]), bool(row[5]), *row[6:]) for row in rows}  # type: ignore[arg-type, misc]
