"""Files of the index, and those that match a filter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from directory_indexer.databases.stored_values import parse_stored
from directory_indexer.docstore.failures import MEND
from directory_indexer.docstore.filters import FileFilter, condition_of, within_condition
from directory_indexer.docstore.known import KNOWN_COLUMNS, KnownFile, KnownFiles, known_by_path
from directory_indexer.docstore.reading import Reading, batches, marks
from directory_indexer.errors import CorruptIndexError
from directory_indexer.ids import ContentHash
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display

with lazily:
    from directory_indexer.extractors.document import FileFacts


class IndexedFile(NamedTuple):
    """A file with text in the index."""

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
    """A file that matches a filter, with its row and that of its tracked directory."""

    id: int
    path: FilePath
    directory_id: int
    holder_id: int
    tagged_below: FilePath | None
    """The directory by which the vectors of its text are tagged, if that is not its own tracked one."""


class FileSize(NamedTuple):
    """The amount of text of a file."""

    path: FilePath
    kind: str
    n_chunks: int
    n_tokens: int


class TextFile(NamedTuple):
    """A file with text, and the character at which each of its pages begins, if it has pages."""

    id: int
    path: FilePath
    kind: str
    pages: str
    holder_id: int

    @property
    def page_starts(self) -> tuple[int, ...]:
        """Return the character at which each page begins."""
        try:
            return page_starts_in(self.pages)
        except (ValueError, AttributeError) as error:
            message = f"where the pages of {display(self.path)} begin is not recorded as it should be"
            raise CorruptIndexError(message, hint=MEND) from error


def page_starts_in(stored: str) -> tuple[int, ...]:
    """Parse the characters at which pages begin.

    Raises:
        ValueError, AttributeError: the value has another form.
    """
    return tuple(map(int, stored.split()))


class Files(Reading):
    """The files of one snapshot."""

    def known(self, directory_id: int | None, *, recipe: int) -> KnownFiles:
        """Return the known files of a tracked directory as extracted by a certain recipe."""
        return KnownFiles(self._connection, directory_id, recipe=recipe)

    def within(self, path: FilePath) -> dict[FilePath, KnownFile]:
        """Return the record of a file, or of everything below a directory."""
        condition, arguments = within_condition(path)
        rows = self._connection.execute(
            f"SELECT {KNOWN_COLUMNS} FROM files f WHERE {condition}",  # noqa: S608
            arguments,
        )
        return known_by_path(rows)

    def get(self, path: FilePath) -> KnownFile | None:
        """Return the record of a file; None if the index does not know it."""
        rows = self._connection.execute(f"SELECT {KNOWN_COLUMNS} FROM files WHERE path = ?", (path,))  # noqa: S608
        return known_by_path(rows).get(path)

    def page_starts(self, path: FilePath) -> tuple[int, ...]:
        """Return the character at which each page of a file begins; empty if it has no pages."""
        row = self._connection.execute("SELECT page_starts FROM files WHERE path = ?", (path,)).fetchone()
        return parse_stored("files.page_starts", page_starts_in, row[0]) if row else ()

    def masked(self, path: FilePath) -> int:
        """Count the secrets masked in the text of a file."""
        return self._count("SELECT coalesce(max(n_masked), 0) FROM files WHERE path = ?", [path])

    def container_of(self, path: FilePath) -> FilePath | None:
        """Return the container on disk of a member at any depth; None for other files."""
        row = self._connection.execute(
            "SELECT c.path FROM files f JOIN files c ON c.id = f.container_id WHERE f.path = ?", (path,)
        ).fetchone()
        return FilePath(row[0]) if row else None

    def members(self, path: FilePath) -> list[FilePath]:
        """Return the members with text of a container, at any depth, sorted by path."""
        rows = self._connection.execute(
            """SELECT path FROM files WHERE container_id = (SELECT id FROM files WHERE path = ?)
               AND EXISTS (SELECT 1 FROM chunks WHERE file_id = coalesce(files.holder_id, files.id)) ORDER BY path""",
            (path,),
        )
        return [FilePath(row[0]) for row in rows]

    def holds(self, path: FilePath) -> bool:
        """Whether a path is tracked, lies in a tracked directory, or contains indexed files."""
        condition, arguments = within_condition(path)
        query = f"SELECT EXISTS (SELECT 1 FROM files f WHERE {condition})"  # noqa: S608 - made of constants
        return bool(
            self._count(query, arguments)
            or self._count("SELECT EXISTS (SELECT 1 FROM directories WHERE path = ?)", [path])
        )

    def matching(self, file_filter: FileFilter) -> list[FoundFile]:
        """Return the files that match a filter."""
        condition, arguments = condition_of(file_filter)
        query = f"{_SELECT_FOUND} WHERE {condition}"
        return list(map(FoundFile._make, self._connection.execute(query, arguments)))

    def all_match(self, file_filter: FileFilter) -> bool:
        """Whether a filter matches all files with text; ten times as fast as listing them."""
        condition, arguments = condition_of(file_filter)
        query = f"SELECT NOT EXISTS (SELECT 1 FROM files f WHERE f.hash IS NOT NULL AND NOT ({condition}))"  # noqa: S608
        return bool(self._count(query, arguments))

    def dates(self, paths: Iterable[FilePath]) -> dict[FilePath, float]:
        """Return the dates of documents: their own, or else that of the last change on disk."""
        dates: dict[FilePath, float] = {}
        for batch in batches(paths):
            query = f"SELECT path, coalesce(dated_at, mtime_ns / 1e9) FROM files WHERE path IN ({marks(batch)})"  # noqa: S608
            dates.update((FilePath(path), moment) for path, moment in self._connection.execute(query, batch))
        return dates

    def sizes(self, within: FilePath) -> Iterator[FileSize]:
        """Yield the sizes of the files with text below a directory or in a container, sorted by path."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"""SELECT f.path, f.kind, count(c.id), coalesce(sum(c.n_tokens), 0)
                FROM files f LEFT JOIN chunks c ON c.file_id = coalesce(f.holder_id, f.id)
                WHERE f.hash IS NOT NULL AND {condition} GROUP BY f.id ORDER BY f.path""",  # noqa: S608
            arguments,
        )
        return map(FileSize._make, rows)

    def texts(self, ids_json: str | None) -> list[TextFile]:
        """Return files with text, sorted by path: those of a JSON array of ids, or all."""
        chosen = "hash IS NOT NULL" if ids_json is None else "id IN (SELECT value FROM json_each(?))"
        rows = self._connection.execute(
            f"""SELECT id, path, kind, page_starts, coalesce(holder_id, id) FROM files
                WHERE {chosen} ORDER BY path""",  # noqa: S608
            [] if ids_json is None else [ids_json],
        )
        return list(map(TextFile._make, rows))

    def at(self, paths: Iterable[FilePath]) -> list[FoundFile]:
        """Return the files at these paths."""
        query = f"{_SELECT_FOUND} WHERE f.path IN (SELECT value FROM json_each(?))"  # noqa: S608 - made of constants
        return list(map(FoundFile._make, self._connection.execute(query, (json.dumps(list(paths)),))))

    def with_text(self, paths: Iterable[FilePath]) -> set[FilePath]:
        """Return which of these paths are those of files with text."""
        rows = self._connection.execute(
            "SELECT path FROM files WHERE hash IS NOT NULL AND path IN (SELECT value FROM json_each(?))",
            (json.dumps(list(paths)),),
        )
        return {FilePath(path) for (path,) in rows}

    def paths(self) -> Iterator[FilePath]:
        """Yield the paths of all files with text, in no order."""
        rows = self._connection.execute("SELECT path FROM files WHERE hash IS NOT NULL")
        return (FilePath(path) for (path,) in rows)

    def in_order(self, file_filter: FileFilter, *, after: FilePath | None = None) -> Iterator[IndexedFile]:
        """Yield the files that match a filter, sorted by path, optionally only those after a path."""
        condition, arguments = condition_of(file_filter)
        columns = (*IndexedFile._fields[:-1], *FileFacts._fields)
        rows = self._connection.execute(
            f"SELECT {', '.join(columns)} FROM files f WHERE {condition} AND path > ? ORDER BY path",  # noqa: S608
            [*arguments, after or ""],
        )
        n_own = len(columns) - len(FileFacts._fields)
        return (IndexedFile._make((*row[:n_own], FileFacts._make(row[n_own:]))) for row in rows)


_SELECT_FOUND = """SELECT f.id, f.path, f.directory_id, coalesce(f.holder_id, f.id),
    CASE WHEN f.holder_id IS NULL THEN f.tagged_below ELSE (
        SELECT coalesce(h.tagged_below, d.path) FROM files h JOIN directories d ON d.id = h.directory_id
        WHERE h.id = f.holder_id) END
    FROM files f"""
