"""Counters of files and members of containers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from directory_indexer.docstore.shared_texts import SharedFile
from directory_indexer.files import FileFailure, SkippedFile
from directory_indexer.ids import ContentHash
from directory_indexer.indexing.planner import Plan
from directory_indexer.indexing.report import IndexReport
from directory_indexer.parsing.outcomes import (
    MemberOutcomes,
    ParsedFile,
    ParseOutcome,
    UnchangedFile,
    outcome_path,
)
from directory_indexer.paths import FilePath


class Tally:
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
            return _with_unread(report, outcome)
        return self._with_text(_with_read(report, outcome), outcome_path(outcome), outcome.hash)

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
                report = _with_unread(report, outcome)
        return report

    def _with_text(self, report: IndexReport, path: FilePath, digest: ContentHash) -> IndexReport:
        if path in self._known:
            return report.plus(n_changed=1)
        if not self._gone[digest]:
            return report.plus(n_added=1)
        self._gone[digest] -= 1
        return report.plus(n_moved=1, n_removed=-1)


def _with_read(report: IndexReport, parsed: ParsedFile) -> IndexReport:
    return report.plus(n_chunks=len(parsed.chunks), n_masked=parsed.n_masked, n_bytes=parsed.source.size)


def _with_unread(report: IndexReport, outcome: UnchangedFile | SkippedFile | FileFailure) -> IndexReport:
    match outcome:
        case SkippedFile():
            return report.plus_skipped(Counter([outcome.reason]))
        case FileFailure():
            return report.plus(failures=(outcome,))
    return report.plus(n_unchanged=1)
