"""Puts files in and takes them out, with all that hangs on them: chunks, metadata, members, settled directories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from directory_indexer.docstore.chunks import ChunkWrites
from directory_indexer.docstore.directories import DirectoryWrites
from directory_indexer.docstore.file_rows import FileRows, Place
from directory_indexer.docstore.metadata import MetadataWrites
from directory_indexer.docstore.scans import ScanWrites
from directory_indexer.extractors.document import Metadata
from directory_indexer.files import FileFailure, SkippedFile, Stage
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, containers_around

with lazily:
    from directory_indexer.parsing.outcomes import ParsedFile, UnchangedFile


class FileWrites:
    """Put files in and take them out."""

    def __init__(
        self,
        rows: FileRows,
        directories: DirectoryWrites,
        chunks: ChunkWrites,
        metadata: MetadataWrites,
        scans: ScanWrites,
    ) -> None:
        self._rows = rows
        self._directories = directories
        self._chunks = chunks
        self._metadata = metadata
        self._scans = scans

    def put(self, place: Place, parsed: ParsedFile, *, recipe: int, members: Collection[FilePath] = ()) -> int:
        """Put a file in, in the place of what the index held of it, and tell how many members with text are gone.

        `members` are those that have been put in before, and stay.
        """
        path = parsed.source.path
        self._note_arrival(place, path)
        is_new = self._rows.id_of(path) is None  # as most are, and nothing hangs on them
        if not is_new:
            self._chunks.remove_of(path)
        file_id = self._rows.put(place, parsed, recipe=recipe)
        self._metadata.put(file_id, parsed.metadata)
        self._scans.put(file_id, parsed.scans)
        self._chunks.add(file_id, parsed)
        return 0 if is_new else self.keep_members(path, members)

    def put_skipped(self, place: Place, skipped: SkippedFile, *, recipe: int) -> None:
        """Note why a file is left out; what the index held of it goes."""
        self._note_arrival(place, skipped.path)
        self._chunks.remove_of(skipped.path)
        self.keep_members(skipped.path, ())
        file_id = self._rows.put_skipped(place, skipped, recipe=recipe)
        self._metadata.put(file_id, Metadata())
        self._scans.put(file_id, skipped.scans)

    def put_failure(self, place: Place, failure: FileFailure, *, recipe: int) -> None:
        """Note why a file could not be processed; its text from an earlier run stays until there is a newer one."""
        self._note_arrival(place, failure.path)
        self._rows.put_failure(place, failure, recipe=recipe)

    def place_in(self, container: FilePath, directory_id: int) -> Place:
        """Give the place of the members of a container, which are about to be put in.

        A container that is new stands there as a failure until it has been read to its end and is put in itself.
        """
        if self._rows.id_of(container) is None:
            unfinished = FileFailure(container, Stage.EXTRACT, "was not read to its end")
            self.put_failure(Place(directory_id), unfinished, recipe=0)
        return Place(directory_id, self._rows.id_of(container))

    def keep_members(self, path: FilePath, present: Collection[FilePath]) -> int:
        """Take the members of a container out that are not `present` any more, and tell how many had text."""
        gone = {member: has_text for member, has_text in self._rows.members_of(path).items() if member not in present}
        for member in gone:
            self._remove(member)
        return sum(gone.values())

    def renew_stamps(self, unchanged: Sequence[UnchangedFile]) -> None:
        """Note new stamps of files whose bytes are what the index holds."""
        for one in unchanged:
            self._directories.unsettle_around(one.source.path)
        self._rows.renew_stamps(unchanged)

    def read_again(self, kinds: Collection[str], suffixes: Collection[str]) -> None:
        """Have the next run read the files of these kinds, those with these suffixes, and all that it left out before.

        What they lie in is read, too. Until then, the index answers from what it has.
        """
        self._rows.outdate(kinds, suffixes)
        self._directories.unsettle_all()

    def remove(self, paths: Iterable[FilePath]) -> int:
        """Take files out of the index with all their members, and tell how many members with text those were."""
        n_members = 0
        for path in paths:
            self._directories.unsettle_around(path)
            self._displace_members(path)
            n_members += self.keep_members(path, ())
            self._remove(path)
        return n_members

    def _note_arrival(self, place: Place, path: FilePath) -> None:
        self._directories.unsettle_around(path)
        if place.container_id is None and not self._rows.is_on_disk(path):
            self._displace_members(path)

    def _displace_members(self, path: FilePath) -> None:
        """Have the next run read a container whose members a file on disk displaces by its path, or does no longer."""
        for container in containers_around(path):
            self._directories.unsettle_around(container)
            self._rows.outdate_on_disk(container)

    def _remove(self, path: FilePath) -> None:
        self._chunks.remove_of(path)
        self._rows.remove(path)
