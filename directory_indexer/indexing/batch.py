"""Batches of files written in one transaction: members of containers before the containers themselves.

A container is written after all of its members. So one that was not read completely is read again.
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
    """The outcome of one file to be written; `container` is the file on disk that contains a member."""

    outcome: ParseOutcome
    container: FilePath | None = None


class Batch:
    """The outcomes that are not written yet."""

    def __init__(self, directory_ids: Mapping[FilePath, int], *, recipe: int) -> None:
        self._directory_ids = directory_ids
        self._recipe = recipe
        self._entries: list[_Entry] = []
        self._members: dict[FilePath, set[FilePath]] = {}
        """The members found in each container that is being read."""

        self.n_chunks = 0

    @property
    def n_files(self) -> int:
        """Return the number of files to be written."""
        return len(self._entries)

    def add(self, outcome: ParseOutcome) -> None:
        """Add a file on disk; the members of a container are added before it."""
        self._add(_Entry(outcome))

    def add_members(self, part: MemberOutcomes) -> None:
        """Add members of a container."""
        found_members = self._members.setdefault(part.source.path, set())
        found_members.update(part.kept)
        for _, outcome in part.outcomes:
            found_members.add(outcome_path(outcome))
            # An unchanged member needs no entry of its own.
            if not isinstance(outcome, UnchangedFile):
                self._add(_Entry(outcome, part.source.path))

    def write(self, transaction: Transaction) -> int:
        """Write and clear the batch; return the number of removed members with text."""
        entries, self._entries, self.n_chunks = self._entries, [], 0
        inserted = transaction.arrivals.put(self._arrivals(transaction, entries), recipe=self._recipe)
        for path in inserted:
            self._members.pop(path, None)
        return sum(self._put(transaction, entry) for entry in entries if outcome_path(entry.outcome) not in inserted)

    def _arrivals(self, transaction: Transaction, entries: Sequence[_Entry]) -> list[Arrival]:
        """Return the files that were read; if two entries have the same path, their order counts."""
        n_entries = Counter(outcome_path(entry.outcome) for entry in entries)
        read = [(entry.outcome, entry.container) for entry in entries if isinstance(entry.outcome, ParsedFile)]
        containers = {container for _, container in read if container}
        inside = {container: self._inside(transaction, container) for container in containers}
        return [
            Arrival(inside[container] if container else Place(self._directory_ids[parsed.source.path]), parsed)
            for parsed, container in read
            if n_entries[parsed.source.path] == 1
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
