"""Files with the text of another one, as in clones and work trees: chunks, words and vectors are kept once for all.

Two files share when they have the same bytes, lie at the same path below their tracked directories and were read in the
same way, for then every value of their chunks is the same. One of them holds the text: its row is the one that the
chunks refer to. When it leaves, the text goes to another one in the same transaction, and the chunks stay as they are.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from directory_indexer.docstore.reading import Reading, batches, marks
from directory_indexer.files import SourceFile
from directory_indexer.ids import ContentHash
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath

with lazily:
    from directory_indexer.extractors.document import FileFacts
    from directory_indexer.parsing.outcomes import ParsedFile, UnchangedFile

HAS_TEXT = "(f.id = c.file_id OR f.holder_id = c.file_id)"
"""The condition for every file `f` that has the text of a chunk `c`, the one that holds it and those that share it."""

_SAME = """
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
"""Files are found by their paths: thousands may have the same bytes, as licences and empty modules have."""

_ASTRAY = """f.holder_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM files h WHERE h.id = f.holder_id AND h.id <> f.id AND h.holder_id IS NULL)"""
"""The condition for files `f` that name as the holder of their text what holds none."""


class SharingFile(NamedTuple):
    """A file that has the text of another one."""

    id: int
    path: FilePath
    mtime_ns: int


class SharedFile(NamedTuple):
    """A file that was put in with the text of another one: how much that is, and how many secrets are masked in it."""

    source: SourceFile
    hash: ContentHash
    n_chunks: int
    n_masked: int


class SameFile(NamedTuple):
    """A file whose text another one may have, too: what is known of it, and the row of the file that holds the text."""

    id: int
    path: FilePath
    holder_id: int
    page_starts: str
    n_masked: int
    dated_at: float | None
    has_metadata: bool
    n_chunks: int
    facts: FileFacts

    def as_read(self, found: UnchangedFile) -> ParsedFile:
        """Give what the row of another file tells that has this text."""
        return ParsedFile(
            found.source,
            found.hash,
            self.facts,
            (),
            tuple(map(int, self.page_starts.split())),
            seen_ns=found.seen_ns,
            n_masked=self.n_masked,
        )


_N_OWN = len(SameFile._fields) - 1


@cache
def _same_query() -> str:
    return _SAME.format(facts=", ".join(f"f.{fact}" for fact in FileFacts._fields))


class SharedTexts(Reading):
    """The files of one moment that share a text."""

    def any(self) -> bool:
        """Tell whether any file shares the text of another one."""
        query = "SELECT EXISTS (SELECT 1 FROM files WHERE holder_id IS NOT NULL)"
        return self._once("any_shared", lambda: bool(self._count(query)))

    def count_astray(self) -> int:
        """Count the files whose text is held by a file that is gone or holds none itself: no search finds them."""
        return self._count(f"SELECT count(*) FROM files f WHERE {_ASTRAY}")  # noqa: S608 - made of constants

    def may_be_shared(self, directory: FilePath, sources: Sequence[SourceFile]) -> list[int]:
        """Tell which of these files, by their places in the list, other directories have in the same place and size."""
        above = len(directory.rstrip(os.sep))
        rows = self._connection.execute(
            """SELECT DISTINCT j.key, f.size FROM json_each(:below) j CROSS JOIN directories d
               CROSS JOIN files f ON f.path = rtrim(d.path, :sep) || j.value
               WHERE d.path <> :directory AND f.hash IS NOT NULL""",
            {"below": json.dumps([one.path[above:] for one in sources]), "sep": os.sep, "directory": directory},
        )
        return sorted({at for at, size in rows if sources[at].size == size})

    def sharing(self, holder_ids: Iterable[int]) -> dict[int, list[SharingFile]]:
        """Give the files that share the texts of these, sorted by path; none for a text that one file has alone."""
        found: dict[int, list[SharingFile]] = defaultdict(list)
        for batch in batches(holder_ids if self.any() else ()):
            rows = self._connection.execute(
                f"SELECT holder_id, id, path, mtime_ns FROM files WHERE holder_id IN ({marks(batch)}) ORDER BY path",  # noqa: S608
                batch,
            )
            for holder_id, *file in rows:
                found[holder_id].append(SharingFile._make(file))
        return found


class SharedTextWrites:
    """Let files share texts, and let them part."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._roots: dict[int, FilePath] = {}

    def same_as(
        self, digests: Mapping[FilePath, ContentHash], directory_id: int, *, recipe: int
    ) -> dict[FilePath, list[SameFile]]:
        """Find for files of a tracked directory those with the same bytes at the same path below others.

        Those that were read last come first; what has none is left out.
        """
        root = self.root(directory_id)
        found: dict[FilePath, list[SameFile]] = {}
        if len(self._roots) > 1:
            below = {path[len(root) :]: digest.hex().upper() for path, digest in digests.items()}
            rows = self._connection.execute(
                _same_query(),
                {"digests": json.dumps(below), "recipe": recipe, "directory_id": directory_id, "sep": os.sep},
            )
            for where, *row in rows:
                same = SameFile._make((*row[:_N_OWN], FileFacts._make(row[_N_OWN:])))
                found.setdefault(FilePath(root + where), []).append(same)
        return found

    def elsewhere(self, paths: Iterable[FilePath], directory_id: int) -> set[FilePath]:
        """Tell which files of a tracked directory others have at the same path below them, whatever their bytes."""
        root = self.root(directory_id)
        if len(self._roots) == 1:
            return set()
        rows = self._connection.execute(
            """SELECT DISTINCT j.value FROM json_each(:below) j CROSS JOIN directories d
               CROSS JOIN files f ON f.path = rtrim(d.path, :sep) || j.value
               WHERE d.id <> :directory_id AND f.hash IS NOT NULL""",
            {"below": json.dumps([path[len(root) :] for path in paths]), "directory_id": directory_id, "sep": os.sep},
        )
        return {FilePath(root + below) for (below,) in rows}

    def root(self, directory_id: int) -> FilePath:
        """Give the path of a tracked directory, without a separator at its end."""
        if directory_id not in self._roots:
            rows = self._connection.execute("SELECT id, path FROM directories")
            self._roots = {id_: FilePath(path.rstrip(os.sep)) for id_, path in rows}
        return self._roots[directory_id]

    def holder_of(self, file_id: int) -> int:
        """Give the row of the file that holds the text of this one: its own, unless another one does."""
        row = self._connection.execute("SELECT coalesce(holder_id, id) FROM files WHERE id = ?", (file_id,)).fetchone()
        return int(row[0])

    def share(self, file_id: int, holder_id: int) -> None:
        """Let a file without chunks of its own have the text that another one holds."""
        self._connection.execute("UPDATE files SET holder_id = ? WHERE id = ?", (holder_id, file_id))

    def part(self, path: FilePath) -> bool:
        """Let a file have no text any more; tell whether its chunks are to be removed, which nobody else has then."""
        row = self._connection.execute(
            "SELECT id, holder_id, tagged_below FROM files WHERE path = ?", (path,)
        ).fetchone()
        if row is None:
            return False
        file_id, holder_id, tagged_below = row
        is_left_alone = holder_id is None and not self._hand_over(file_id)
        if holder_id is not None or tagged_below is not None:
            self._connection.execute("UPDATE files SET holder_id = NULL, tagged_below = NULL WHERE id = ?", (file_id,))
        return is_left_alone

    def outdate_astray(self) -> int:
        """Have the next run read the files whose text nobody holds; tell how many they are."""
        astray = f"SELECT f.id FROM files f WHERE {_ASTRAY}"  # noqa: S608 - made of constants
        changed = self._connection.execute(
            f"UPDATE files SET holder_id = NULL, recipe = 0, broken_recipe = NULL WHERE id IN ({astray})"  # noqa: S608
        )
        return changed.rowcount

    def _hand_over(self, holder_id: int) -> bool:
        """Let the text of a file be held by one that shares it, and tell whether there is one."""
        row = self._connection.execute("SELECT id FROM files WHERE holder_id = ? LIMIT 1", (holder_id,)).fetchone()
        if row is None:
            return False
        (heir_id,) = row
        # Points in the vector store keep the tags that they have.
        self._connection.execute(
            """UPDATE files SET holder_id = NULL, tagged_below = (
                   SELECT coalesce(f.tagged_below, d.path) FROM files f JOIN directories d ON d.id = f.directory_id
                   WHERE f.id = ?) WHERE id = ?""",
            (holder_id, heir_id),
        )
        self._connection.execute("UPDATE files SET holder_id = ? WHERE holder_id = ?", (heir_id, holder_id))
        self._connection.execute("UPDATE chunks SET file_id = ? WHERE file_id = ?", (heir_id, holder_id))
        return True
