"""What the index knows of the files of one tracked directory, for a run to compare with what it meets.

Most directories of most runs are as they were when they were settled, and of those nothing is read. Of the others most
files have not changed: their stamps come as one set, which is compared as a whole, and what else is known is read of
the rest alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from directory_indexer.databases.stored_values import integer, list_in, parse_stored, text
from directory_indexer.docstore.schema import PARENT
from directory_indexer.files import SkipReason, SourceFile, Stamp
from directory_indexer.ids import ContentHash
from directory_indexer.paths import FilePath, prefix_of
from directory_indexer.walker.listing import IgnoredPath, Settled, SettledDirectory

KNOWN_COLUMNS = (
    "path, size, mtime_ns, changed_ns, inode, is_settled, hash, recipe, state, reason, detail, "
    "broken_hash, broken_recipe"
)
"""The columns of a path and its `KnownFile`."""

_STAMP_COLUMNS = "path, size, mtime_ns, changed_ns, inode"
_IN = f"INDEXED BY files_by_parent WHERE {PARENT} = ? AND directory_id = ? AND container_id IS NULL"
_READ = "state = 'indexed' AND recipe = ?"
_SETTLED = f"is_settled AND {_READ}"


class FileState(StrEnum):
    """What the index holds of a file that a run met."""

    INDEXED = "indexed"
    SKIPPED = "skipped"
    FAILED = "failed"


class KnownFile(NamedTuple):
    """What the index knows of a file that an earlier run met.

    Without `is_settled` it was changed just before its stamp was taken, and may have changed again within it. `recipe`
    names the way it was extracted and chunked. `broken_hash` is that of the content that broke a parser, when files
    were read in the way of `broken_recipe`. A tuple for the same reason as `SourceFile`.
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
    def why_without_text(self) -> str:
        """Say why the index holds no text of it."""
        if self.state == FileState.FAILED:
            return f"it could not be indexed: {self.detail or self.reason}; dirindex index tries again"
        return f"it was skipped: {self.reason}{f', {self.detail}' if self.detail else ''}"


class KnownFiles:
    """The files that the index knows in a tracked directory, or none if it does not know that.

    Members of containers are no files of a directory: a run meets them when it reads what they lie in.
    """

    def __init__(self, connection: sqlite3.Connection, directory_id: int | None, *, recipe: int) -> None:
        self._connection = connection
        self._directory_id = directory_id
        self._recipe = recipe

    @cached_property
    def settled(self) -> Settled:
        """The directories in which nothing needs to be looked at while they are as they were."""
        rows = self._connection.execute(
            "SELECT path, digest, n_files, left_out FROM settled_directories WHERE directory_id = ?",
            (self._directory_id,),
        )
        return Settled(self._recipe, {row[0]: _settled(*row) for row in rows})

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
        """Give the stamps of the files of one directory that need not be looked at while they have them."""
        rows = self._connection.execute(
            f"SELECT {_STAMP_COLUMNS} FROM files {_IN} AND {_SETTLED}",  # noqa: S608
            (prefix_of(directory), self._directory_id, self._recipe),
        )
        return set(rows)

    def details_in(self, directory: FilePath, paths: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Tell all that is known of every file of one directory that is not settled, and of these."""
        rows = self._connection.execute(
            f"""SELECT {KNOWN_COLUMNS} FROM files {_IN} AND NOT ({_SETTLED})
                UNION ALL SELECT {KNOWN_COLUMNS} FROM files WHERE path IN (SELECT value FROM json_each(?))""",  # noqa: S608
            (prefix_of(directory), self._directory_id, self._recipe, json.dumps(list(paths))),
        )
        return known_by_path(rows)

    def details_outside(self, directories: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Tell all that is known of the files of any other directory."""
        rows = self._connection.execute(
            f"""SELECT {KNOWN_COLUMNS} FROM files
                WHERE directory_id = ? AND container_id IS NULL
                AND {PARENT} NOT IN (SELECT value FROM json_each(?))""",  # noqa: S608
            (self._directory_id, json.dumps([prefix_of(directory) for directory in directories])),
        )
        return known_by_path(rows)

    def members_of(self, path: FilePath) -> dict[FilePath, ContentHash | None]:
        """Give the hashes of the members of a container that were read in the way of now; None for the others."""
        rows = self._connection.execute(
            f"""SELECT path, CASE WHEN {_READ} THEN hash END FROM files
                WHERE container_id = (SELECT id FROM files WHERE path = ?)""",  # noqa: S608
            (self._recipe, path),
        )
        return dict(rows.fetchall())


def _settled(path: FilePath, digest: bytes, n_files: int, left_out: str) -> SettledDirectory:
    if not left_out:
        return SettledDirectory(digest, n_files)
    skipped, ignored = parse_stored("settled_directories.left_out", parsed_left_out, left_out)
    prefix = prefix_of(path)
    return SettledDirectory(
        digest, n_files, skipped, tuple(IgnoredPath(FilePath(prefix + name), rule) for name, rule in ignored)
    )


def parsed_left_out(written: object) -> tuple[tuple[tuple[SkipReason, int], ...], tuple[tuple[str, str], ...]]:
    """Parse what `left_out_of` has written: reasons with their counts, and names with their rules.

    Raises:
        ValueError, TypeError: it is something else.
    """
    skipped, ignored = list_in(written)
    return (
        tuple((SkipReason(reason), integer(count)) for reason, count in skipped),
        tuple((text(name), text(rule)) for name, rule in ignored),
    )


def left_out_of(path: FilePath, settled: SettledDirectory) -> str:
    """Write down what of a settled directory is no file of the index."""
    if not settled.skipped and not settled.ignored:
        return ""
    start = len(prefix_of(path))
    return json.dumps([settled.skipped, [(ignored.path[start:], ignored.rule) for ignored in settled.ignored]])


def known_by_path(rows: Iterable[tuple[object, ...]]) -> dict[FilePath, KnownFile]:
    """Read rows of `KNOWN_COLUMNS`."""
    return {row[0]: KnownFile(SourceFile._make(row[:5]), bool(row[5]), *row[6:]) for row in rows}  # type: ignore[arg-type, misc]
