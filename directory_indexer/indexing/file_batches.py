"""Batches of files written in one transaction: members of containers before the containers themselves.

A container that was not read completely is therefore read again. A file with the same bytes at the same relative path
in another tracked directory, such as a clone or work tree, shares its text without being parsed. Other files are
parsed; if the result is the text of another file, it is still stored once.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from directory_indexer.core.files import FileFailure, SkippedFile
from directory_indexer.core.ids import ContentHash, content_hash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.core.safe_open import CachedPathOpener, Opener
from directory_indexer.indexing.planner import Plan
from directory_indexer.indexing.report import IndexReport
from directory_indexer.parsing.one_file import read_file
from directory_indexer.parsing.outcomes import (
    MemberOutcomes,
    ParsedFile,
    ParseOutcome,
    ParseRequest,
    UnchangedFile,
    outcome_path,
)
from directory_indexer.storage.documents.file_writes import FileLocation
from directory_indexer.storage.documents.shared_texts import SharedFile
from directory_indexer.storage.documents.store import DocStore, Transaction

with lazily:
    from directory_indexer.parsing.policy import ParsePolicy
    from directory_indexer.storage.documents.file_writes import LocatedFile


class _BatchEntry(NamedTuple):
    """The outcome of one file to be written; `container` is the file on disk that contains a member."""

    outcome: ParseOutcome
    container: FilePath | None = None


class FileBatch:
    """The outcomes of parsed files to write in the next transaction."""

    def __init__(self, directory_ids: Mapping[FilePath, int], *, recipe: int) -> None:
        self._directory_ids = directory_ids
        self._recipe = recipe
        self._entries: list[_BatchEntry] = []
        self._members: dict[FilePath, set[FilePath]] = {}
        """The members found in each container that is being read."""

        self.n_chunks = 0
        self._begun = time.monotonic()

    @property
    def seconds(self) -> float:
        """Return the seconds since the last batch was written, or since the first began."""
        return time.monotonic() - self._begun

    @property
    def n_files(self) -> int:
        """Return the number of files to be written."""
        return len(self._entries)

    def add(self, outcome: ParseOutcome) -> None:
        """Add a file on disk; the members of a container are added before it."""
        self._add(_BatchEntry(outcome))

    def add_members(self, part: MemberOutcomes) -> None:
        """Add members of a container."""
        found_members = self._members.setdefault(part.source.path, set())
        found_members.update(part.kept)
        for _, outcome in part.outcomes:
            found_members.add(outcome_path(outcome))
            # An unchanged member needs no entry of its own.
            if not isinstance(outcome, UnchangedFile):
                self._add(_BatchEntry(outcome, part.source.path))

    def write(self, transaction: Transaction) -> int:
        """Write and clear the batch; return the number of removed members with text."""
        entries, self._entries, self.n_chunks = self._entries, [], 0
        inserted = transaction.files.insert_new(self._files_to_insert(transaction, entries), recipe=self._recipe)
        for path in inserted:
            self._members.pop(path, None)
        n_removed = sum(
            self._write_entry(transaction, entry) for entry in entries if outcome_path(entry.outcome) not in inserted
        )
        self._begun = time.monotonic()
        return n_removed

    def _files_to_insert(self, transaction: Transaction, entries: Sequence[_BatchEntry]) -> list[LocatedFile]:
        """Return the files that were read; if two entries have the same path, their order counts."""
        n_entries = Counter(outcome_path(entry.outcome) for entry in entries)
        read = [(entry.outcome, entry.container) for entry in entries if isinstance(entry.outcome, ParsedFile)]
        containers = {container for _, container in read if container}
        inside = {container: self._location_of_member(transaction, container) for container in containers}
        return [
            LocatedFile(
                inside[container] if container else FileLocation(self._directory_ids[parsed.source.path]), parsed
            )
            for parsed, container in read
            if n_entries[parsed.source.path] == 1
        ]

    def _location_of_member(self, transaction: Transaction, container: FilePath) -> FileLocation:
        return transaction.files.location_in_container(container, self._directory_ids[container])

    def _add(self, entry: _BatchEntry) -> None:
        self._entries.append(entry)
        if isinstance(entry.outcome, ParsedFile):
            self.n_chunks += len(entry.outcome.chunks)

    def _write_entry(self, transaction: Transaction, entry: _BatchEntry) -> int:
        outcome, container = entry
        path = outcome_path(outcome)
        members = self._members.pop(path, set())
        if container is not None and transaction.file_rows.is_on_disk(path):
            return 0
        place = (
            self._location_of_member(transaction, container) if container else FileLocation(self._directory_ids[path])
        )
        match outcome:
            case ParsedFile():
                return transaction.files.put(place, outcome, recipe=self._recipe, members=members)
            case SkippedFile():
                transaction.files.put_skipped(place, outcome, recipe=self._recipe)
            case FileFailure():
                transaction.files.put_failure(place, outcome, recipe=self._recipe)
            case UnchangedFile():
                transaction.files.update_stamps([outcome])
        return 0


class FileBlock(NamedTuple):
    """Some files of a plan: those that now share an indexed text, and the rest, which must be parsed."""

    shared: tuple[SharedFile, ...]
    rest: tuple[ParseRequest, ...]


class TextSharing:
    """Finds files that another tracked directory has at the same relative path; the caller holds the write lock."""

    def __init__(self, docstore: DocStore, policy: Callable[[], ParsePolicy], *, recipe: int) -> None:
        self._docstore = docstore
        self._policy = policy
        self._recipe = recipe

    def blocks(self, directory_id: int, plan: Plan, *, must_stop: Callable[[], bool]) -> Iterator[FileBlock]:
        """Yield blocks of the files to read, each in a transaction of its own, until stopped."""
        if not self._may_share_texts(plan):
            yield FileBlock((), plan.requests)
            return
        for start in range(0, len(plan.requests), _FILES_PER_BLOCK):
            if must_stop():
                return
            yield self._share_block(directory_id, plan, plan.requests[start : start + _FILES_PER_BLOCK])

    def _may_share_texts(self, plan: Plan) -> bool:
        if plan.reads_everything or not plan.requests:
            return False
        with self._docstore.snapshot() as snapshot:
            return len(snapshot.directories.all()) > 1

    def _share_block(self, directory_id: int, plan: Plan, requests: Sequence[ParseRequest]) -> FileBlock:
        with self._docstore.snapshot() as snapshot:
            places = snapshot.shared_texts.positions_of_shareable(
                plan.directory, [request.source for request in requests]
            )
        policy = self._policy()
        with CachedPathOpener() as passage:
            unchanged = [
                file
                for position in places
                if (file := _hash_file_to_share(requests[position], policy, passage.open_file))
            ]
        if not unchanged:
            return FileBlock((), tuple(requests))
        with self._docstore.transaction() as transaction:
            shared = transaction.files.insert_sharing(
                FileLocation(directory_id), unchanged, recipe=self._recipe, unless=partial(_is_sent_document, policy)
            )
        return FileBlock(tuple(shared.values()), tuple(file for file in requests if file.source.path not in shared))


def _hash_file_to_share(request: ParseRequest, policy: ParsePolicy, opener: Opener) -> UnchangedFile | None:
    """Return the digest of a file, unless its parser must decide."""
    path = request.source.path
    # A configured program may extract another text the next time.
    is_added = any(format_added.has(os.path.basename(path).lower()) for format_added in policy.added)
    if request.known_members or is_added or _is_sent_document(policy, path):
        return None
    content = read_file(request, policy, opener)
    if isinstance(content, SkippedFile | FileFailure):
        return None
    digest = content_hash(content.content)
    return None if digest == request.known_hash else UnchangedFile(content.source, digest, content.seen_ns)


def _is_sent_document(policy: ParsePolicy, path: FilePath) -> bool:
    """Whether a document was sent: its sender's metadata is part of its text."""
    return policy.descriptions is not None and policy.descriptions.of(path) is not None


_FILES_PER_BLOCK: Final = 1000


class RunCounters:
    """Counts new, changed and moved files, which it distinguishes by the plans of a run."""

    def __init__(self, plans: Iterable[Plan]) -> None:
        plans = list(plans)
        self._known = frozenset().union(*(plan.changed for plan in plans))
        self._known_members = {
            request.source.path: frozenset(path for path, _ in request.known_members)
            for plan in plans
            for request in plan.requests
            if request.known_members
        }
        self._gone = Counter(digest for plan in plans for digest in plan.removed_hashes)

    def with_file(self, report: IndexReport, outcome: ParseOutcome) -> IndexReport:
        """Return the report with a file counted."""
        if not isinstance(outcome, ParsedFile):
            return _count_unread(report, outcome)
        report = report.plus(n_chunks=len(outcome.chunks), n_masked=outcome.n_masked, n_bytes=outcome.source.size)
        return self._with_text(report, outcome_path(outcome), outcome.hash)

    def with_shared(self, report: IndexReport, shared: SharedFile) -> IndexReport:
        """Return the report with a file counted that has the text of another one."""
        report = report.plus(n_chunks=shared.n_chunks, n_masked=shared.n_masked, n_bytes=shared.source.size)
        return self._with_text(report, shared.source.path, shared.hash)

    def with_members(self, report: IndexReport, part: MemberOutcomes) -> IndexReport:
        """Return the report with members of a container counted, regardless of their former containers."""
        known = self._known_members.get(part.source.path, frozenset())
        read = [outcome for _, outcome in part.outcomes if isinstance(outcome, ParsedFile)]
        n_known = sum(parsed.source.path in known for parsed in read)
        report = report.plus(
            n_unchanged=len(part.kept),
            n_ignored=part.n_ignored,
            n_chunks=sum(len(parsed.chunks) for parsed in read),
            n_masked=sum(parsed.n_masked for parsed in read),
            n_bytes=sum(parsed.source.size for parsed in read),
            n_changed=n_known,
            n_added=len(read) - n_known,
        )
        for _, outcome in part.outcomes:
            if not isinstance(outcome, ParsedFile):
                report = _count_unread(report, outcome)
        return report

    def _with_text(self, report: IndexReport, path: FilePath, digest: ContentHash) -> IndexReport:
        if path in self._known:
            return report.plus(n_changed=1)
        if not self._gone[digest]:
            return report.plus(n_added=1)
        self._gone[digest] -= 1
        return report.plus(n_moved=1, n_removed=-1)


def _count_unread(report: IndexReport, outcome: UnchangedFile | SkippedFile | FileFailure) -> IndexReport:
    match outcome:
        case SkippedFile():
            return report.plus_skipped(Counter([outcome.reason]))
        case FileFailure():
            return report.plus(failures=(outcome,))
    return report.plus(n_unchanged=1)
