"""Bulk insertion of files that are new to the index: nearly all of a first run, and the commits of a history.

Nothing has to be deleted first, so each table gets its rows in one statement. `FileWrites` handles the rest: files that
have a row already, and files whose text may equal that of another file, which has to be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from directory_indexer.docstore.chunks import ChunkWrites, FileText
from directory_indexer.docstore.directories import DirectoryWrites
from directory_indexer.docstore.file_rows import FileRows, NewRow, Place
from directory_indexer.docstore.metadata import MetadataWrites, dated_at
from directory_indexer.docstore.scans import ScanWrites
from directory_indexer.docstore.shared_texts import SameFile, SharedFile, SharedTextWrites
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, containers_around

with lazily:
    from directory_indexer.parsing.outcomes import ParsedFile, UnchangedFile


class Arrival(NamedTuple):
    """A parsed file and where it lies."""

    place: Place
    parsed: ParsedFile

    @property
    def path(self) -> FilePath:
        """Return its path."""
        return self.parsed.source.path


class ArrivalWrites:
    """Insertion of new files, table by table."""

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

    def put(self, arrivals: Sequence[Arrival], *, recipe: int) -> set[FilePath]:
        """Insert those files that are new and cannot share a text, and return their paths; each path occurs once."""
        new = self._simply_new(arrivals)
        paths = {arrival.path for arrival in new}
        self._directories.unsettle_around(*paths)
        rows = [NewRow(place, parsed, dated_at(parsed.metadata)) for place, parsed in new]
        numbered = list(zip(self._rows.add(rows, recipe=recipe), new, strict=True))
        self._metadata.add((file_id, arrival.parsed.metadata) for file_id, arrival in numbered)
        self._scans.add((file_id, arrival.parsed.scans) for file_id, arrival in numbered)
        root = self._shared.root
        self._chunks.add(
            [FileText(file_id, root(arrival.place.directory_id), arrival.parsed) for file_id, arrival in numbered]
        )
        return paths

    def put_same(
        self, place: Place, unchanged: Sequence[UnchangedFile], *, recipe: int, unless: Callable[[FilePath], bool]
    ) -> dict[FilePath, SharedFile]:
        """Insert those files on disk that are new and have the text of another file, without reading their content.

        Files for which `unless` is true do not share their text.
        """
        known = self._rows.known(file.source.path for file in unchanged)
        new = {
            file.source.path: file
            for file in unchanged
            if file.source.path not in known and _is_plain(file.source.path)
        }
        digests = {path: file.hash for path, file in new.items()}
        same = {
            path: other
            for path, others in self._shared.same_as(digests, place.directory_id, recipe=recipe).items()
            if (other := next((candidate for candidate in others if not unless(candidate.path)), None))
        }
        self._directories.unsettle_around(*same)
        self._add_same(place, [(new[path], other) for path, other in same.items()], recipe=recipe)
        return {
            path: SharedFile(new[path].source, new[path].hash, other.n_chunks, other.n_masked)
            for path, other in same.items()
        }

    def _add_same(self, place: Place, pairs: Sequence[tuple[UnchangedFile, SameFile]], *, recipe: int) -> None:
        rows = [NewRow(place, other.as_read(file), other.dated_at, other.holder_id) for file, other in pairs]
        for file_id, (_, other) in zip(self._rows.add(rows, recipe=recipe), pairs, strict=True):
            if other.has_metadata:
                self._metadata.copy(file_id, other.id)

    def _simply_new(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Return the files that are unknown and whose text no other file can have."""
        known = self._rows.known(arrival.path for arrival in arrivals)
        # If a batch holds clones, the second file may share the text of the first one once that has been inserted.
        first: dict[str, Arrival] = {}
        for arrival in arrivals:
            if arrival.path not in known and (arrival.place.container_id is not None or _is_plain(arrival.path)):
                first.setdefault(arrival.path[len(self._shared.root(arrival.place.directory_id)) :], arrival)
        may_share = self._may_share([arrival for arrival in first.values() if arrival.place.container_id is None])
        return [arrival for arrival in first.values() if arrival.path not in may_share]

    def _may_share(self, arrivals: Iterable[Arrival]) -> set[FilePath]:
        paths: dict[int, list[FilePath]] = {}
        for arrival in arrivals:
            paths.setdefault(arrival.place.directory_id, []).append(arrival.path)
        return {
            path
            for directory_id, paths_of_directory in paths.items()
            for path in self._shared.elsewhere(paths_of_directory, directory_id)
        }


def _is_plain(path: FilePath) -> bool:
    """Whether a file on disk cannot lie where a container may have a member."""
    return not containers_around(path)
