"""Deduplication of texts across clones and work trees: chunks, words and vectors are stored once.

Two files share a text if they have the same bytes, the same path below their tracked directories and the same recipe,
since then every value of their chunks is equal. One of them owns the text: the chunks refer to its row. When it is
removed, ownership passes to another file in the same transaction, and the chunks stay as they are.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from directory_indexer.core.files import SourceFile
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.documents import SnapshotQueries, TableWrites

with lazily:
    from directory_indexer.formats.document import FileFacts
    from directory_indexer.parsing.outcomes import ParsedFile, UnchangedFile

HAS_TEXT = "(f.id = c.file_id OR f.holder_id = c.file_id)"
"""The condition for every file `f` that has the text of a chunk `c`: its owner and the files that share it."""

CHUNKS_OF_FILES = "files f JOIN chunks c ON c.file_id = coalesce(f.holder_id, f.id)"
"""The chunks of each file, shared ones included."""

_SELECT_IDENTICAL = """
    SELECT j.key, f.id, f.path, coalesce(f.holder_id, f.id), f.page_starts, f.n_masked, f.dated_at,
        EXISTS (SELECT 1 FROM metadata m WHERE m.file_id = f.id),
        (SELECT count(*) FROM chunks c WHERE c.file_id = coalesce(f.holder_id, f.id)), {facts}
    FROM json_each(:digests) j CROSS JOIN directories d
    CROSS JOIN files f ON f.path = rtrim(d.path, :sep) || j.key AND f.directory_id = d.id
    WHERE d.id <> :directory_id AND hex(f.hash) = j.value AND f.recipe = :recipe AND f.state = 'indexed'
    AND f.container_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM scans WHERE file_id = f.id)
    AND NOT EXISTS (SELECT 1 FROM files m WHERE m.container_id = f.id)
    ORDER BY f.checked_ns DESC, f.id
"""
"""Files are looked up by path: thousands may have the same bytes, such as licences and empty modules."""

_IN_ANOTHER_DIRECTORY = """FROM json_each(:below) j CROSS JOIN directories d
    CROSS JOIN files f ON f.path = rtrim(d.path, :sep) || j.value WHERE f.hash IS NOT NULL"""

_IS_ORPHANED = """f.holder_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM files h WHERE h.id = f.holder_id AND h.id <> f.id AND h.holder_id IS NULL)"""
"""The condition for files `f` whose `holder_id` refers to a file that owns no text."""


class SharingFile(NamedTuple):
    """A file that has the text of another one."""

    id: int
    path: FilePath
    mtime_ns: int


class SharedFile(NamedTuple):
    """A file inserted with the text of another one, with the number of chunks and of masked secrets."""

    source: SourceFile
    hash: ContentHash
    n_chunks: int
    n_masked: int


class IdenticalFile(NamedTuple):
    """A file whose text another one may share: its facts, and the row of the file that owns the text."""

    id: int
    path: FilePath
    holder_id: int
    page_starts: str
    n_masked: int
    dated_at: float | None
    has_metadata: bool
    n_chunks: int
    facts: FileFacts

    def as_parsed_file(self, unchanged: UnchangedFile) -> ParsedFile:
        """Return the record of another file that has this text."""
        return ParsedFile(
            unchanged.source,
            unchanged.hash,
            self.facts,
            (),
            tuple(map(int, self.page_starts.split())),
            seen_ns=unchanged.seen_ns,
            n_masked=self.n_masked,
        )


_N_OWN_FIELDS = len(IdenticalFile._fields) - 1


@cache
def _identical_files_query() -> str:
    return _SELECT_IDENTICAL.format(facts=", ".join(f"f.{fact}" for fact in FileFacts._fields))


class SharedTexts(SnapshotQueries):
    """The files of one snapshot that share a text."""

    def has_any(self) -> bool:
        """Whether any file shares the text of another one."""
        query = "SELECT EXISTS (SELECT 1 FROM files WHERE holder_id IS NOT NULL)"
        return self._compute_once("any_shared", lambda: bool(self._count(query)))

    def count_orphaned(self) -> int:
        """Count the files whose text's owner is missing or owns no text: no search finds them."""
        return self._count(f"SELECT count(*) FROM files f WHERE {_IS_ORPHANED}")  # noqa: S608 - made of constants

    def positions_of_shareable(self, directory: FilePath, sources: Sequence[SourceFile]) -> list[int]:
        """Return the positions of those files that other directories have with the same relative path and size."""
        above = len(directory.rstrip(os.sep))
        rows = self._connection.execute(
            f"SELECT DISTINCT j.key, f.size {_IN_ANOTHER_DIRECTORY} AND d.path <> :directory",
            {"below": json.dumps([source.path[above:] for source in sources]), "sep": os.sep, "directory": directory},
        )
        return sorted({position for position, size in rows if sources[position].size == size})

    def files_sharing_texts_of(self, holder_ids: Iterable[int]) -> dict[int, list[SharingFile]]:
        """Return the files that share the texts of these, sorted by path; a text of one file only has none."""
        sharing: dict[int, list[SharingFile]] = defaultdict(list)
        query = "SELECT holder_id, id, path, mtime_ns FROM files WHERE holder_id IN ({}) ORDER BY path"
        for holder_id, *file in self._rows_for(query, holder_ids if self.has_any() else ()):
            sharing[holder_id].append(SharingFile._make(file))
        return sharing


class SharedTextWrites(TableWrites):
    """Writes that share texts between files, or end the sharing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._roots: dict[int, FilePath] = {}

    def identical_files(
        self, digests: Mapping[FilePath, ContentHash], directory_id: int, *, recipe: int
    ) -> dict[FilePath, list[IdenticalFile]]:
        """Return, for files of a tracked directory, those with the same bytes and relative path in others.

        The files read last come first; files without any are omitted.
        """
        root = self.root(directory_id)
        same_files: dict[FilePath, list[IdenticalFile]] = {}
        if len(self._roots) > 1:
            below = {path[len(root) :]: digest.hex().upper() for path, digest in digests.items()}
            rows = self._connection.execute(
                _identical_files_query(),
                {"digests": json.dumps(below), "recipe": recipe, "directory_id": directory_id, "sep": os.sep},
            )
            for relative_path, *row in rows:
                same = IdenticalFile._make((*row[:_N_OWN_FIELDS], FileFacts._make(row[_N_OWN_FIELDS:])))
                same_files.setdefault(FilePath(root + relative_path), []).append(same)
        return same_files

    def with_same_relative_path(self, paths: Iterable[FilePath], directory_id: int) -> set[FilePath]:
        """Return those of some files that another tracked directory has at the same relative path."""
        root = self.root(directory_id)
        if len(self._roots) == 1:
            return set()
        rows = self._connection.execute(
            f"SELECT DISTINCT j.value {_IN_ANOTHER_DIRECTORY} AND d.id <> :directory_id",
            {"below": json.dumps([path[len(root) :] for path in paths]), "directory_id": directory_id, "sep": os.sep},
        )
        return {FilePath(root + below) for (below,) in rows}

    def root(self, directory_id: int) -> FilePath:
        """Return the path of a tracked directory, without a separator at its end."""
        if directory_id not in self._roots:
            rows = self._execute("SELECT id, path FROM directories")
            self._roots = {id_: FilePath(path.rstrip(os.sep)) for id_, path in rows}
        return self._roots[directory_id]

    def holder_of(self, file_id: int) -> int:
        """Return the row of the file that owns the text of this one: the file itself, unless it shares a text."""
        row = self._execute("SELECT coalesce(holder_id, id) FROM files WHERE id = ?", file_id).fetchone()
        return int(row[0])

    def share(self, file_id: int, holder_id: int) -> None:
        """Make a file without chunks share the text that another one owns."""
        self._execute("UPDATE files SET holder_id = ? WHERE id = ?", holder_id, file_id)

    def detach(self, path: FilePath) -> bool:
        """Detach a file from its text; return whether its chunks must be removed, as no other file shares them."""
        row = self._execute("SELECT id, holder_id, tagged_below FROM files WHERE path = ?", path).fetchone()
        if row is None:
            return False
        file_id, holder_id, tagged_below = row
        is_last = holder_id is None and not self._pass_text_on(file_id)
        if holder_id is not None or tagged_below is not None:
            self._execute("UPDATE files SET holder_id = NULL, tagged_below = NULL WHERE id = ?", file_id)
        return is_last

    def mark_orphaned_outdated(self) -> int:
        """Make the next run read the files whose text has no owner; return their number."""
        astray = f"SELECT f.id FROM files f WHERE {_IS_ORPHANED}"  # noqa: S608 - made of constants
        changed = self._connection.execute(
            f"UPDATE files SET holder_id = NULL, recipe = 0, broken_recipe = NULL WHERE id IN ({astray})"  # noqa: S608
        )
        return changed.rowcount

    def _pass_text_on(self, holder_id: int) -> bool:
        """Pass the text of a file on to one that shares it; return whether there is one."""
        row = self._execute("SELECT id FROM files WHERE holder_id = ? LIMIT 1", holder_id).fetchone()
        if row is None:
            return False
        (heir_id,) = row
        # Points in the vector store keep their tags.
        self._execute(
            """UPDATE files SET holder_id = NULL, tagged_below = (
                   SELECT coalesce(f.tagged_below, d.path) FROM files f JOIN directories d ON d.id = f.directory_id
                   WHERE f.id = ?) WHERE id = ?""",
            holder_id,
            heir_id,
        )
        self._execute("UPDATE files SET holder_id = ? WHERE holder_id = ?", heir_id, holder_id)
        self._execute("UPDATE chunks SET file_id = ? WHERE file_id = ?", heir_id, holder_id)
        return True
