"""What is written to the index in one transaction: files, and members of containers before the containers themselves.

A container is written when all of its members were. So one that was not read to its end stays something to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from directory_indexer.docstore.file_rows import Place
from directory_indexer.docstore.store import Transaction
from directory_indexer.files import FileFailure, SkippedFile
from directory_indexer.parsing.outcomes import (
    MemberOutcomes,
    ParsedFile,
    ParseOutcome,
    UnchangedFile,
    outcome_path,
)
from directory_indexer.paths import FilePath


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
        n_gone = sum(self._put(transaction, entry) for entry in self._entries)
        self._entries = []
        self.n_chunks = 0
        return n_gone

    def _add(self, entry: _Entry) -> None:
        self._entries.append(entry)
        if isinstance(entry.outcome, ParsedFile):
            self.n_chunks += len(entry.outcome.chunks)

    def _put(self, transaction: Transaction, entry: _Entry) -> int:
        outcome, container = entry
        path = outcome_path(outcome)
        place = Place(self._directory_ids[container or path])
        members = self._members.pop(path, set())
        if container is not None:
            if transaction.file_rows.is_on_disk(path):
                return 0
            place = transaction.files.place_in(container, place.directory_id)
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
