"""Insertion and removal of files with their chunks, metadata, members and settled directories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from directory_indexer.docstore.chunks import ChunkWrites, FileText
from directory_indexer.docstore.directories import DirectoryWrites
from directory_indexer.docstore.file_rows import FileRows, Place
from directory_indexer.docstore.metadata import MetadataWrites, dated_at
from directory_indexer.docstore.scans import ScanWrites
from directory_indexer.docstore.shared_texts import SharedFile, SharedTextWrites
from directory_indexer.extractors.document import Metadata
from directory_indexer.files import FileFailure, SkippedFile, Stage
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, containers_around

with lazily:
    from directory_indexer.parsing.outcomes import ParsedFile, UnchangedFile


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

    def put(self, place: Place, parsed: ParsedFile, *, recipe: int, members: Collection[FilePath] = ()) -> int:
        """Insert a file, or replace what the index has of it; return how many members with text were removed.

        `members` were inserted before, and stay.
        """
        path = parsed.source.path
        self._prepare_insert(place, path)
        is_new = self._rows.id_of(path) is None  # most files are new, and nothing refers to them
        if not is_new:
            self._chunks.remove_of(path)
        file_id = self._rows.put(place, parsed, recipe=recipe, dated=dated_at(parsed.metadata))
        self._metadata.put(file_id, parsed.metadata)
        self._scans.put(file_id, parsed.scans)
        holder_id = self._holder_of_same(place, parsed, recipe=recipe)
        if holder_id is None:
            self._chunks.add([FileText(file_id, self._shared.root(place.directory_id), parsed)])
        else:
            self._shared.share(file_id, holder_id)
        return 0 if is_new else self.keep_members(path, members)

    def put_same(
        self, place: Place, unchanged: UnchangedFile, *, recipe: int, unless: Callable[[FilePath], bool]
    ) -> SharedFile | None:
        """Insert a file that has the text of another one, without reading it; None if there is no such file."""
        path = unchanged.source.path
        others = self._shared.same_as({path: unchanged.hash}, place.directory_id, recipe=recipe)
        same = next((candidate for candidate in others.get(path, ()) if not unless(candidate.path)), None)
        if same is None:
            return None
        self._prepare_insert(place, path)
        is_new = self._rows.id_of(path) is None  # most files are new, and nothing refers to them
        if not is_new:
            self._chunks.remove_of(path)
            self.keep_members(path, ())
        holder_id = self._shared.holder_of(
            same.id
        )  # looked up only now: if this file owned the text, it has just been passed on
        file_id = self._rows.put(
            place, same.as_read(unchanged), recipe=recipe, dated=same.dated_at, holder_id=holder_id
        )
        if same.has_metadata or not is_new:
            self._metadata.copy(file_id, same.id)
        if not is_new:
            self._scans.put(file_id, ())
        return SharedFile(unchanged.source, unchanged.hash, same.n_chunks, same.n_masked)

    def put_skipped(self, place: Place, skipped: SkippedFile, *, recipe: int) -> None:
        """Store why a file is skipped; its text is removed from the index."""
        self._prepare_insert(place, skipped.path)
        self._chunks.remove_of(skipped.path)
        self.keep_members(skipped.path, ())
        file_id = self._rows.put_skipped(place, skipped, recipe=recipe)
        self._metadata.put(file_id, Metadata())
        self._scans.put(file_id, skipped.scans)

    def put_failure(self, place: Place, failure: FileFailure, *, recipe: int) -> None:
        """Store why a file could not be processed; its text from an earlier run stays until there is a newer one."""
        self._prepare_insert(place, failure.path)
        self._rows.put_failure(place, failure, recipe=recipe)

    def place_in(self, container: FilePath, directory_id: int) -> Place:
        """Return the place of the members of a container, which are about to be inserted.

        A new container is recorded as failed until it has been read completely and is inserted itself.
        """
        if self._rows.id_of(container) is None:
            unfinished = FileFailure(container, Stage.EXTRACT, "was not read to its end")
            self.put_failure(Place(directory_id), unfinished, recipe=0)
        return Place(directory_id, self._rows.id_of(container))

    def keep_members(self, path: FilePath, present: Collection[FilePath]) -> int:
        """Remove the members of a container that are not `present`; return how many had text."""
        gone = {member: has_text for member, has_text in self._rows.members_of(path).items() if member not in present}
        for member in gone:
            self._remove(member)
        return sum(gone.values())

    def renew_stamps(self, unchanged: Sequence[UnchangedFile]) -> None:
        """Store new stamps of files whose content is unchanged."""
        self._directories.unsettle_around(*(file.source.path for file in unchanged))
        self._rows.renew_stamps(unchanged)

    def read_again(self, kinds: Collection[str], suffixes: Collection[str]) -> None:
        """Make the next run read the files of these kinds, those with these suffixes, and all that were skipped.

        Their containers are read, too. Until then, the old texts stay searchable.
        """
        self._rows.outdate(kinds, suffixes)
        self._directories.unsettle_all()

    def remove(self, paths: Iterable[FilePath]) -> int:
        """Remove files with all their members; return how many members with text were removed."""
        n_members = 0
        for path in paths:
            self._directories.unsettle_around(path)
            self._displace_members(path)
            n_members += self.keep_members(path, ())
            self._remove(path)
        return n_members

    def _holder_of_same(self, place: Place, parsed: ParsedFile, *, recipe: int) -> int | None:
        """Return the row of another file that owns exactly this text."""
        if place.container_id is not None or parsed.scans or not parsed.chunks:
            return None
        page_starts = " ".join(map(str, parsed.page_starts))
        path = parsed.source.path
        others = self._shared.same_as({path: parsed.hash}, place.directory_id, recipe=recipe)
        for same in others.get(path, ()):
            is_alike = same.facts == parsed.facts and same.page_starts == page_starts
            if is_alike and self._chunks.are_those_of(same.holder_id, parsed):
                return same.holder_id
        return None

    def _prepare_insert(self, place: Place, path: FilePath) -> None:
        self._directories.unsettle_around(path)
        if place.container_id is None and containers_around(path) and not self._rows.is_on_disk(path):
            self._displace_members(path)

    def _displace_members(self, path: FilePath) -> None:
        """Make the next run read the containers for whose members a file on disk may stand in."""
        for container in containers_around(path):
            self._directories.unsettle_around(container)
            self._rows.outdate_on_disk(container)

    def _remove(self, path: FilePath) -> None:
        self._chunks.remove_of(path)
        self._rows.remove(path)
