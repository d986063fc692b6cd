"""Insertion and removal of files with their rows, chunks, metadata, members and settled directories.

A row keeps its id while the file is known, since chunks, metadata and members refer to it.

Files that are new to the index, nearly all of a first run and the commits of a history, are inserted in bulk: nothing
has to be deleted first, so each table gets its rows in one statement. The rest is written file by file: files that have
a row already, and files whose text may equal that of another file, which has to be compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from directory_indexer.core.files import FileFailure, SkippedFile, SourceFile, Stage
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, containers_around, well_formed
from directory_indexer.formats.document import FileFacts, Metadata
from directory_indexer.storage.documents import TableWrites, placeholders
from directory_indexer.storage.documents.chunks import ChunkWrites, LocatedText
from directory_indexer.storage.documents.incomplete_files import ScanWrites
from directory_indexer.storage.documents.known_files import FileState
from directory_indexer.storage.documents.metadata import MetadataWrites, date_of_metadata
from directory_indexer.storage.documents.shared_texts import IdenticalFile, SharedFile, SharedTextWrites
from directory_indexer.storage.documents.statistics import DirectoryWrites

with lazily:
    from directory_indexer.parsing.outcomes import ParsedFile, UnchangedFile

_STAMP_COLUMNS = "path, size, mtime_ns, changed_ns, inode, is_settled, checked_ns"
_FAILURE_COLUMNS = f"{_STAMP_COLUMNS}, state, reason, detail, broken_hash, broken_recipe"
_EXCLUDED_COLUMNS = ", ".join(f"excluded.{name}" for name in _FAILURE_COLUMNS.split(", "))
_FILE_COLUMNS = (
    f"{_STAMP_COLUMNS}, directory_id, container_id, state, hash, recipe, {', '.join(FileFacts._fields)}, "
    "page_starts, reason, detail, n_masked, dated_at, broken_hash, broken_recipe, holder_id"
)
_FILE_PLACEHOLDERS = placeholders(_FILE_COLUMNS.split(","))
_INSERT_FILE = f"INSERT INTO files ({_FILE_COLUMNS}) VALUES ({_FILE_PLACEHOLDERS})"  # noqa: S608 - made of constants
_INSERT_NUMBERED_FILE = f"INSERT INTO files ({_FILE_COLUMNS}, id) VALUES ({_FILE_PLACEHOLDERS}, ?)"  # noqa: S608 - made of constants
_UPDATE_FILE = f"UPDATE files SET ({_FILE_COLUMNS}) = ({_FILE_PLACEHOLDERS}) WHERE id = ?"  # noqa: S608 - made of constants


class FileWrites:
    """Insertion and removal of files."""

    def __init__(
        self,
        rows: FileRows,
        directories: DirectoryWrites,
        chunks: ChunkWrites,
        shared: SharedTextWrites,
        *,
        metadata: MetadataWrites,
        scans: ScanWrites,
    ) -> None:
        self._rows = rows
        self._directories = directories
        self._chunks = chunks
        self._shared = shared
        self._metadata = metadata
        self._scans = scans

    def put(
        self, location: FileLocation, parsed: ParsedFile, *, recipe: int, members: Collection[FilePath] = ()
    ) -> int:
        """Insert a file, or replace what the index has of it; return how many members with text were removed.

        `members` were inserted before, and stay.
        """
        path = parsed.source.path
        self._prepare_insert(location, path)
        is_new = self._rows.id_of(path) is None  # most files are new, and nothing refers to them
        if not is_new:
            self._chunks.remove_chunks_of(path)
        file_id = self._rows.put(LocatedFile(location, parsed, date_of_metadata(parsed.metadata)), recipe=recipe)
        self._metadata.put(file_id, parsed.metadata)
        self._scans.put(file_id, parsed.scans)
        holder_id = self._holder_of_identical_text(location, parsed, recipe=recipe)
        if holder_id is None:
            self._chunks.add([LocatedText(file_id, self._shared.root(location.directory_id), parsed)])
        else:
            self._shared.share(file_id, holder_id)
        return 0 if is_new else self.remove_other_members(path, members)

    def insert_new(self, files: Sequence[LocatedFile], *, recipe: int) -> set[FilePath]:
        """Insert those files that are new and cannot share a text, and return their paths; each path occurs once."""
        new = self._new_and_unshareable(files)
        paths = {arrival.path for arrival in new}
        self._directories.unsettle_parents_of(*paths)
        rows = [arrival._replace(dated=date_of_metadata(arrival.parsed.metadata)) for arrival in new]
        numbered = list(zip(self._rows.add(rows, recipe=recipe), new, strict=True))
        self._metadata.add((file_id, arrival.parsed.metadata) for file_id, arrival in numbered)
        self._scans.add((file_id, arrival.parsed.scans) for file_id, arrival in numbered)
        root = self._shared.root
        self._chunks.add(
            [LocatedText(file_id, root(arrival.location.directory_id), arrival.parsed) for file_id, arrival in numbered]
        )
        return paths

    def insert_sharing(
        self,
        location: FileLocation,
        unchanged: Sequence[UnchangedFile],
        *,
        recipe: int,
        unless: Callable[[FilePath], bool],
    ) -> dict[FilePath, SharedFile]:
        """Insert those files on disk that have the text of another one, without reading their content.

        Files for which `unless` is true do not share their text.
        """
        digests = {file.source.path: file.hash for file in unchanged}
        same = {
            path: other
            for path, others in self._shared.identical_files(digests, location.directory_id, recipe=recipe).items()
            if (other := next((candidate for candidate in others if not unless(candidate.path)), None))
        }
        known = self._rows.known(same)
        pairs = [(file, same[file.source.path]) for file in unchanged if file.source.path in same]
        new = [
            (file, other)
            for file, other in pairs
            if file.source.path not in known and _is_regular_file(file.source.path)
        ]
        self._directories.unsettle_parents_of(*(file.source.path for file, _ in new))
        rows = [
            LocatedFile(location, other.as_parsed_file(file), other.dated_at, other.holder_id) for file, other in new
        ]
        for file_id, (_, other) in zip(self._rows.add(rows, recipe=recipe), new, strict=True):
            if other.has_metadata:
                self._metadata.copy(file_id, other.id)
        inserted = {file.source.path for file, _ in new}
        rest = [(file, other) for file, other in pairs if file.source.path not in inserted]
        for file, other in rest:
            self._replace_by_shared_text(location, file, other, recipe=recipe)
        return {
            file.source.path: SharedFile(file.source, file.hash, other.n_chunks, other.n_masked)
            for file, other in (*new, *rest)
        }

    def put_skipped(self, location: FileLocation, skipped: SkippedFile, *, recipe: int) -> None:
        """Store why a file is skipped; its text is removed from the index."""
        self._prepare_insert(location, skipped.path)
        self._chunks.remove_chunks_of(skipped.path)
        self.remove_other_members(skipped.path, ())
        file_id = self._rows.put_skipped(location, skipped, recipe=recipe)
        self._metadata.put(file_id, Metadata())
        self._scans.put(file_id, skipped.scans)

    def put_failure(self, location: FileLocation, failure: FileFailure, *, recipe: int) -> None:
        """Store why a file could not be processed; its text from an earlier run stays until there is a newer one."""
        self._prepare_insert(location, failure.path)
        self._rows.put_failure(location, failure, recipe=recipe)

    def location_in_container(self, container: FilePath, directory_id: int) -> FileLocation:
        """Return the place of the members of a container, which are about to be inserted.

        A new container is recorded as failed until it has been read completely and is inserted itself.
        """
        if self._rows.id_of(container) is None:
            unfinished = FileFailure(container, Stage.EXTRACT, "was not read to its end")
            self.put_failure(FileLocation(directory_id), unfinished, recipe=0)
        return FileLocation(directory_id, self._rows.id_of(container))

    def remove_other_members(self, path: FilePath, present: Collection[FilePath]) -> int:
        """Remove the members of a container that are not `present`; return how many had text."""
        gone = {member: has_text for member, has_text in self._rows.members_of(path).items() if member not in present}
        for member in gone:
            self._remove(member)
        return sum(gone.values())

    def update_stamps(self, unchanged: Sequence[UnchangedFile]) -> None:
        """Store new stamps of files whose content is unchanged."""
        self._directories.unsettle_parents_of(*(file.source.path for file in unchanged))
        self._rows.update_stamps(unchanged)

    def mark_outdated(self, kinds: Collection[str], suffixes: Collection[str]) -> None:
        """Make the next run read the files of these kinds, those with these suffixes, and all that were skipped.

        Their containers are read, too. Until then, the old texts stay searchable.
        """
        self._rows.mark_outdated(kinds, suffixes)
        self._directories.unsettle_all()

    def remove(self, paths: Iterable[FilePath]) -> int:
        """Remove files with all their members; return how many members with text were removed."""
        n_members = 0
        for path in paths:
            self._directories.unsettle_parents_of(path)
            self._reread_containers_of(path)
            n_members += self.remove_other_members(path, ())
            self._remove(path)
        return n_members

    def _new_and_unshareable(self, arrivals: Sequence[LocatedFile]) -> list[LocatedFile]:
        """Return the files that are unknown and whose text no other file can have."""
        known = self._rows.known(arrival.path for arrival in arrivals)
        # If a batch holds clones, the second file may share the text of the first one once that has been inserted.
        first: dict[str, LocatedFile] = {}
        for arrival in arrivals:
            if arrival.path not in known and (
                arrival.location.container_id is not None or _is_regular_file(arrival.path)
            ):
                first.setdefault(arrival.path[len(self._shared.root(arrival.location.directory_id)) :], arrival)
        may_share = self._paths_that_may_share(
            [arrival for arrival in first.values() if arrival.location.container_id is None]
        )
        return [arrival for arrival in first.values() if arrival.path not in may_share]

    def _paths_that_may_share(self, arrivals: Iterable[LocatedFile]) -> set[FilePath]:
        paths: dict[int, list[FilePath]] = {}
        for arrival in arrivals:
            paths.setdefault(arrival.location.directory_id, []).append(arrival.path)
        return {
            path
            for directory_id, paths_of_directory in paths.items()
            for path in self._shared.with_same_relative_path(paths_of_directory, directory_id)
        }

    def _replace_by_shared_text(
        self, place: FileLocation, file: UnchangedFile, same: IdenticalFile, *, recipe: int
    ) -> None:
        path = file.source.path
        self._prepare_insert(place, path)
        is_new = self._rows.id_of(path) is None  # most files are new, and nothing refers to them
        if not is_new:
            self._chunks.remove_chunks_of(path)
            self.remove_other_members(path, ())
        # Looked up only now: if this file owned the text, it has just been passed on.
        holder_id = self._shared.holder_of(same.id)
        row = LocatedFile(place, same.as_parsed_file(file), same.dated_at, holder_id)
        file_id = self._rows.put(row, recipe=recipe)
        if same.has_metadata or not is_new:
            self._metadata.copy(file_id, same.id)
        if not is_new:
            self._scans.put(file_id, ())

    def _holder_of_identical_text(self, place: FileLocation, parsed: ParsedFile, *, recipe: int) -> int | None:
        """Return the row of another file that owns exactly this text."""
        if place.container_id is not None or parsed.scans or not parsed.chunks:
            return None
        page_starts = " ".join(map(str, parsed.page_starts))
        path = parsed.source.path
        others = self._shared.identical_files({path: parsed.hash}, place.directory_id, recipe=recipe)
        for same in others.get(path, ()):
            is_alike = same.facts == parsed.facts and same.page_starts == page_starts
            if is_alike and self._chunks.owns_exactly(same.holder_id, parsed):
                return same.holder_id
        return None

    def _prepare_insert(self, place: FileLocation, path: FilePath) -> None:
        self._directories.unsettle_parents_of(path)
        if place.container_id is None and containers_around(path) and not self._rows.is_on_disk(path):
            self._reread_containers_of(path)

    def _reread_containers_of(self, path: FilePath) -> None:
        """Make the next run read the containers for whose members a file on disk may stand in."""
        for container in containers_around(path):
            self._directories.unsettle_parents_of(container)
            self._rows.mark_outdated_on_disk(container)

    def _remove(self, path: FilePath) -> None:
        self._chunks.remove_chunks_of(path)
        self._rows.remove(path)


class FileLocation(NamedTuple):
    """The location of a file: its tracked directory, and for a member the row of its container on disk."""

    directory_id: int
    container_id: int | None = None


class LocatedFile(NamedTuple):
    """A parsed file with its location, and for its row the date of the document and the file that owns its text."""

    location: FileLocation
    parsed: ParsedFile
    dated: float | None = None
    holder_id: int | None = None

    @property
    def path(self) -> FilePath:
        """Return its path."""
        return self.parsed.source.path


class FileRows(TableWrites):
    """Writes to the table of files, and to no other."""

    def id_of(self, path: FilePath) -> int | None:
        """Return the row of a file; None if there is none."""
        row = self._execute("SELECT id FROM files WHERE path = ?", path).fetchone()
        return int(row[0]) if row else None

    def known(self, paths: Iterable[FilePath]) -> set[FilePath]:
        """Return which of these paths have rows."""
        rows = self._execute(
            "SELECT path FROM files WHERE path IN (SELECT value FROM json_each(?))", json.dumps(list(paths))
        )
        return {FilePath(path) for (path,) in rows}

    def is_on_disk(self, path: FilePath) -> bool:
        """Whether there is a row for a file on disk, as opposed to a member."""
        query = "SELECT 1 FROM files WHERE path = ? AND container_id IS NULL"
        return self._execute(query, path).fetchone() is not None

    def members_of(self, path: FilePath) -> dict[FilePath, bool]:
        """Return the members of a container, and whether each has text."""
        rows = self._execute(
            "SELECT path, hash IS NOT NULL FROM files WHERE container_id = (SELECT id FROM files WHERE path = ?)", path
        )
        return {FilePath(member): bool(has_text) for member, has_text in rows}

    def add(self, files: Sequence[LocatedFile], *, recipe: int) -> range:
        """Insert rows of files that have none, and return their ids."""
        first = int(self._execute("SELECT 1 + coalesce(max(id), 0) FROM files").fetchone()[0])
        ids = range(first, first + len(files))
        values = [(*_indexed_file_values(file, recipe), file_id) for file_id, file in zip(ids, files, strict=True)]
        self._connection.executemany(_INSERT_NUMBERED_FILE, values)
        return ids

    def put(self, file: LocatedFile, *, recipe: int) -> int:
        """Write the row of a file that was read, and return its id."""
        return self._put(file.parsed.source.path, _indexed_file_values(file, recipe))

    def put_skipped(self, location: FileLocation, skipped: SkippedFile, *, recipe: int) -> int:
        """Write the row of a skipped file, and return its id."""
        return self._put(
            skipped.path,
            (
                *_stamp_values(skipped.source or SourceFile(skipped.path, 0, 0), skipped.seen_ns),
                *(*location, FileState.SKIPPED, None, recipe, *FileFacts(), ""),
                *(skipped.reason, well_formed(skipped.detail), 0, None, None, None, None),
            ),
        )

    def put_failure(self, location: FileLocation, failure: FileFailure, *, recipe: int) -> None:
        """Write a failure to the row of a file; its text columns stay."""
        values = (
            *_stamp_values(failure.source or SourceFile(failure.path, 0, 0), failure.seen_ns),
            *(FileState.FAILED, failure.stage, well_formed(failure.message)),
            *(failure.hash, recipe if failure.hash else None),
        )
        self._connection.execute(
            f"""INSERT INTO files ({_FAILURE_COLUMNS}, directory_id, container_id, recipe)
                VALUES ({placeholders(values)}, ?, ?, 0)
                ON CONFLICT (path) DO UPDATE SET ({_FAILURE_COLUMNS}) = ({_EXCLUDED_COLUMNS})""",  # noqa: S608 - made of constants
            (*values, *location),
        )

    def update_stamps(self, unchanged: Sequence[UnchangedFile]) -> None:
        """Write new stamps of files whose content is unchanged."""
        self._connection.executemany(
            f"""UPDATE files SET ({_STAMP_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?),
                    state = 'indexed', reason = '', detail = '', broken_hash = NULL, broken_recipe = NULL
                WHERE path = ?""",  # noqa: S608 - made of constants
            [(*_stamp_values(file.source, file.seen_ns), file.source.path) for file in unchanged],
        )

    def mark_outdated(self, kinds: Collection[str], suffixes: Collection[str]) -> None:
        """Mark files of these kinds, with these suffixes, and all files without text, to be read again.

        Their containers are marked, too.
        """
        has_suffix = " OR ".join(["path LIKE ?"] * len(suffixes)) or "0"
        self._connection.execute(
            f"""UPDATE files SET recipe = 0, broken_recipe = NULL
                WHERE state <> 'indexed' OR kind IN ({placeholders(kinds)}) OR {has_suffix}""",  # noqa: S608
            [*kinds, *(f"%.{suffix}" for suffix in suffixes)],
        )
        self._execute("""UPDATE files SET recipe = 0
               WHERE id IN (SELECT container_id FROM files WHERE container_id IS NOT NULL AND recipe = 0)""")

    def mark_outdated_on_disk(self, path: FilePath) -> None:
        """Mark one file on disk to be read again."""
        self._execute("UPDATE files SET recipe = 0 WHERE path = ? AND container_id IS NULL", path)

    def remove(self, path: FilePath) -> None:
        """Delete a row."""
        self._execute("DELETE FROM files WHERE path = ?", path)

    def _put(self, path: FilePath, values: Sequence[object]) -> int:
        # An upsert, or RETURNING, needs a savepoint of its own, before which SQLite makes FTS5 flush: a segment for
        # every file, and a quarter of the time of a batch.
        file_id = self.id_of(path)
        if file_id is None:
            return int(self._execute(_INSERT_FILE, *values).lastrowid or 0)
        self._execute(_UPDATE_FILE, *values, file_id)
        return file_id


def _indexed_file_values(file: LocatedFile, recipe: int) -> tuple[object, ...]:
    place, parsed, dated, holder_id = file
    return (
        *_stamp_values(parsed.source, parsed.seen_ns),
        *(*place, FileState.INDEXED, parsed.hash, recipe, *parsed.facts),
        *(" ".join(map(str, parsed.page_starts)), "", "", parsed.n_masked, dated),
        *(None, None, holder_id),
    )


def _stamp_values(source: SourceFile, seen_ns: int) -> tuple[object, ...]:
    return (*source, source.is_settled(seen_ns), seen_ns)


def _is_regular_file(path: FilePath) -> bool:
    """Whether a file on disk cannot lie where a container may have a member."""
    return not containers_around(path)
