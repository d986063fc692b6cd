"""What is written to the index in one transaction: files, and members of containers before the containers themselves.

A container is written when all of its members were. So one that was not read to its end stays something to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from directory_indexer.docstore.file_rows import Place
from directory_indexer.docstore.store import Transaction
from directory_indexer.files import FileFailure, SkippedFile
from directory_indexer.lazy import lazily
from directory_indexer.parsing.outcomes import (
    MemberOutcomes,
    ParsedFile,
    ParseOutcome,
    UnchangedFile,
    outcome_path,
)
from directory_indexer.paths import FilePath

with lazily:
    from directory_indexer.docstore.arrivals import Arrival


class _Entry(NamedTuple):
    """What is to be written of one file; `container` is the file on disk that a member lies in."""

    outcome: ParseOutcome
    container: FilePath | None = None


class Batch:
    """What was found out and is not written yet."""

    def __init__(self, directory_ids: Mapping[FilePath, int], *, recipe: int) -> None:
        self._directory_ids = directory_ids
        self._recipe = recipe
        self._entries: list[_Entry] = []
        self._members: dict[FilePath, set[FilePath]] = {}
        """Of each container that is being read, the members that were met."""

        self.n_chunks = 0

    @property
    def n_files(self) -> int:
        """Count the files to be written."""
        return len(self._entries)

    def add(self, outcome: ParseOutcome) -> None:
        """Take a file on disk; if it is a container, its members came before."""
        self._add(_Entry(outcome))

    def add_members(self, part: MemberOutcomes) -> None:
        """Take members of a container."""
        met = self._members.setdefault(part.source.path, set())
        met.update(part.kept)
        for _, outcome in part.outcomes:
            met.add(outcome_path(outcome))
            # Nothing is known of an unchanged member but what its container says.
            if not isinstance(outcome, UnchangedFile):
                self._add(_Entry(outcome, part.source.path))

    def write(self, transaction: Transaction) -> int:
        """Write it all, and tell how many members with text are gone; the batch is empty then."""
        entries, self._entries, self.n_chunks = self._entries, [], 0
        done = transaction.arrivals.put(self._arrivals(transaction, entries), recipe=self._recipe)
        for path in done:
            self._members.pop(path, None)
        return sum(self._put(transaction, entry) for entry in entries if outcome_path(entry.outcome) not in done)

    def _arrivals(self, transaction: Transaction, entries: Sequence[_Entry]) -> list[Arrival]:
        """Give the files that were read; where two entries are about one path, their order counts."""
        times = Counter(outcome_path(entry.outcome) for entry in entries)
        read = [(entry.outcome, entry.container) for entry in entries if isinstance(entry.outcome, ParsedFile)]
        containers = {container for _, container in read if container}
        inside = {container: self._inside(transaction, container) for container in containers}
        return [
            Arrival(inside[container] if container else Place(self._directory_ids[one.source.path]), one)
            for one, container in read
            if times[one.source.path] == 1
        ]

    def _inside(self, transaction: Transaction, container: FilePath) -> Place:
        return transaction.files.place_in(container, self._directory_ids[container])

    def _add(self, entry: _Entry) -> None:
        self._entries.append(entry)
        if isinstance(entry.outcome, ParsedFile):
            self.n_chunks += len(entry.outcome.chunks)

    def _put(self, transaction: Transaction, entry: _Entry) -> int:
        outcome, container = entry
        path = outcome_path(outcome)
        members = self._members.pop(path, set())
        if container is not None and transaction.file_rows.is_on_disk(path):
            return 0
        place = self._inside(transaction, container) if container else Place(self._directory_ids[path])
        match outcome:
            case ParsedFile():
                return transaction.files.put(place, outcome, recipe=self._recipe, members=members)
            case SkippedFile():
                transaction.files.put_skipped(place, outcome, recipe=self._recipe)
            case FileFailure():
                transaction.files.put_failure(place, outcome, recipe=self._recipe)
            case UnchangedFile():
                transaction.files.renew_stamps([outcome])
        return 0
