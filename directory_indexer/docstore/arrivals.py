"""Puts in files that the index has never met, many at a time: nearly all of a first run, and the commits of a history.

Nothing of them has to go first, so that every table gets its rows in one statement. What is not as simple is left to
`FileWrites`: what has a row already, and what may share the text of another file that has to be compared.
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
    """A file that was read, and where it lies."""

    place: Place
    parsed: ParsedFile

    @property
    def path(self) -> FilePath:
        """Give its path."""
        return self.parsed.source.path


class ArrivalWrites:
    """Put in what is new, table by table."""

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
        """Put in those of some files, each with a path of its own, that are new and share no text; tell which."""
        new = self._simply_new(arrivals)
        paths = {one.path for one in new}
        self._directories.unsettle_around(*paths)
        rows = [NewRow(place, parsed, dated_at(parsed.metadata)) for place, parsed in new]
        numbered = list(zip(self._rows.add(rows, recipe=recipe), new, strict=True))
        self._metadata.add((file_id, one.parsed.metadata) for file_id, one in numbered)
        self._scans.add((file_id, one.parsed.scans) for file_id, one in numbered)
        root = self._shared.root
        self._chunks.add([FileText(file_id, root(one.place.directory_id), one.parsed) for file_id, one in numbered])
        return paths

    def put_same(
        self, place: Place, found: Sequence[UnchangedFile], *, recipe: int, unless: Callable[[FilePath], bool]
    ) -> dict[FilePath, SharedFile]:
        """Put in those of some files on disk that are new and have the text of another one, of which nothing is read.

        Those of which `unless` tells that they must not share theirs are no such others.
        """
        known = self._rows.known(one.source.path for one in found)
        new = {one.source.path: one for one in found if one.source.path not in known and _is_plain(one.source.path)}
        digests = {path: one.hash for path, one in new.items()}
        same = {
            path: other
            for path, others in self._shared.same_as(digests, place.directory_id, recipe=recipe).items()
            if (other := next((one for one in others if not unless(one.path)), None))
        }
        self._directories.unsettle_around(*same)
        self._add_same(place, [(new[path], other) for path, other in same.items()], recipe=recipe)
        return {
            path: SharedFile(new[path].source, new[path].hash, other.n_chunks, other.n_masked)
            for path, other in same.items()
        }

    def _add_same(self, place: Place, pairs: Sequence[tuple[UnchangedFile, SameFile]], *, recipe: int) -> None:
        rows = [NewRow(place, other.as_read(one), other.dated_at, other.holder_id) for one, other in pairs]
        for file_id, (_, other) in zip(self._rows.add(rows, recipe=recipe), pairs, strict=True):
            if other.has_metadata:
                self._metadata.copy(file_id, other.id)

    def _simply_new(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Give those of which nothing is known and whose text no other file can have."""
        known = self._rows.known(one.path for one in arrivals)
        # Of clones in one batch, the second file may share the text of the first one when that has been put in.
        first: dict[str, Arrival] = {}
        for one in arrivals:
            if one.path not in known and (one.place.container_id is not None or _is_plain(one.path)):
                first.setdefault(one.path[len(self._shared.root(one.place.directory_id)) :], one)
        may_share = self._may_share([one for one in first.values() if one.place.container_id is None])
        return [one for one in first.values() if one.path not in may_share]

    def _may_share(self, arrivals: Iterable[Arrival]) -> set[FilePath]:
        paths: dict[int, list[FilePath]] = {}
        for one in arrivals:
            paths.setdefault(one.place.directory_id, []).append(one.path)
        return {path for directory_id, some in paths.items() for path in self._shared.elsewhere(some, directory_id)}


def _is_plain(path: FilePath) -> bool:
    """Tell whether a file on disk cannot stand where a container may have a member."""
    return not containers_around(path)
