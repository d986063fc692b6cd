"""Records of the outcome and of the plan of an index run, as counts and by path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

from directory_indexer.lazy import lazily
from directory_indexer.wire.fields import Outcomes, Seconds, SkipReasons, Truncated
from directory_indexer.wire.runs import Failure, failure_of

with lazily:
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import EmbeddingEstimate, IndexReport


Added = Annotated[int, "Files that are new."]
Changed = Annotated[int, "Files whose size, time or content differs."]
Moved = Annotated[int, "Files that were elsewhere before."]
Unchanged = Annotated[int, "Files that are as they were."]
SkippedFiles = Annotated[int, "Files that hold nothing to index."]
FailedFiles = Annotated[int, "Files that could not be processed."]
Removed = Annotated[int, "Files that leave the index."]
Ignored = Annotated[int, "Files and directories that a rule leaves out."]
Seen = Annotated[int, "Files that were seen: the sum of those that follow, but for the removed and ignored."]
Read = Annotated[int, "Bytes to read."]


class RunReport(NamedTuple):
    """The outcome of a run."""

    state: Outcomes
    seconds: Seconds
    files: Seen
    added: Added
    changed: Changed
    moved: Moved
    unchanged: Unchanged
    skipped: SkippedFiles
    failed: FailedFiles
    removed: Removed
    ignored: Ignored
    masked: Annotated[int, "Secrets that were masked in files that were read."]
    bytes: Annotated[int, "Bytes that were read."]
    pages: Annotated[int, "Scanned pages that OCR has read."]
    pages_waiting: Annotated[int, "Scanned pages that wait for OCR."]
    pages_unreadable: Annotated[int, "Scanned pages that OCR could not read."]
    ocr_usage: Annotated[str | None, "What the service that reads pages has counted, in words."]
    ocr_refusals: Annotated[Mapping[str, int], "Pages that the configured service did not read, by its reasons."]
    chunks: Annotated[int, "Passages written, which can be found by words."]
    embedded: Annotated[int, "Vectors that were computed."]
    reused: Annotated[int, "Vectors that were taken over from an equal text."]
    pending: Annotated[int, "Vectors that are still to come."]
    refused: Annotated[int, "Passages that the embedding provider takes in no way; they are found by words."]
    truncated_texts: Annotated[int, "Passages of which the provider read only the beginning."]
    tokens: Annotated[int, "Tokens sent to the provider, as it counts them."]
    provider_error: Annotated[str | None, "Why vectors are still to come."]
    skip_reasons: SkipReasons
    unavailable: Annotated[tuple[str, ...], "Directories that were not there; nothing of them was removed."]
    failures: Annotated[tuple[Failure, ...], "The failed files, and the refused passages."]
    truncated: Truncated


class PlanCounts(NamedTuple):
    """The plan of a run for one directory, as counts."""

    path: Annotated[str, "Absolute path of the directory."]
    files: Seen
    added: Added
    changed: Changed
    unchanged: Unchanged
    skipped: SkippedFiles
    failed: FailedFiles
    bytes: Read
    removed: Removed
    ignored: Ignored


class Change(NamedTuple):
    """The planned action for one path."""

    path: Annotated[str, "Absolute path."]
    action: Annotated[str, "add, update, remove, fail, skip or ignore."]
    reason: Annotated[str | None, "The reason or rule, where there is one."]


class PlanAnswer(NamedTuple):
    """The plan of a run."""

    dry_run: Annotated[bool, "Always true: nothing was written."]
    files: Seen
    added: Added
    changed: Changed
    unchanged: Unchanged
    skipped: SkippedFiles
    failed: FailedFiles
    bytes: Read
    removed: Removed
    ignored: Ignored
    embedding: Annotated[str, "The model that would embed."]
    tokens: Annotated[int, "About how many tokens would be embedded; pictures and sound count as none."]
    pages_waiting: Annotated[int, "Scanned pages that wait for OCR; those of files still to be read are not known yet."]
    redone: Annotated[tuple[str, ...], "What would be done again, since the index was built in another way."]
    directories: Annotated[tuple[PlanCounts, ...], "The same counts for each directory."]
    changes: Annotated[tuple[Change, ...], "What would be done, path by path; what was skipped before is only counted."]
    truncated: Truncated


def run_report(report: IndexReport) -> RunReport:
    """Return the record of the outcome of a run."""
    return RunReport(
        state=report.outcome,
        seconds=round(report.seconds, 3),
        files=report.n_seen,
        added=report.n_added,
        changed=report.n_changed,
        moved=report.n_moved,
        unchanged=report.n_unchanged,
        skipped=report.n_skipped,
        failed=report.n_failed,
        removed=report.n_removed,
        ignored=report.n_ignored,
        masked=report.n_masked,
        bytes=report.n_bytes,
        pages=report.n_pages,
        pages_waiting=report.n_pages_waiting,
        pages_unreadable=report.n_pages_unreadable,
        ocr_usage=report.ocr_usage or None,
        ocr_refusals=dict(report.ocr_refusals),
        chunks=report.n_chunks,
        embedded=report.n_embedded,
        reused=report.n_reused,
        pending=report.n_pending,
        refused=len(report.refused),
        truncated_texts=report.n_truncated,
        tokens=report.n_tokens,
        provider_error=report.unavailable or None,
        skip_reasons=dict(report.skipped),
        unavailable=report.unavailable_roots,
        failures=tuple(map(failure_of, (*report.failures, *report.refused))),
        truncated=False,
    )


def plan_answer(plans: Sequence[Plan], estimate: EmbeddingEstimate) -> PlanAnswer:
    """Return the record of the plan of a run."""
    counts_by_plan = [_plan_counts(plan) for plan in plans]
    totals = Counter[str]()
    for counts in counts_by_plan:
        totals.update(counts)
    return PlanAnswer(
        dry_run=True,
        **{name: totals[name] for name in PlanCounts._fields[1:]},
        embedding=estimate.space_name,
        tokens=estimate.n_tokens,
        pages_waiting=estimate.n_pages,
        redone=estimate.redone,
        directories=tuple(
            PlanCounts(plan.directory, **counts) for plan, counts in zip(plans, counts_by_plan, strict=True)
        ),
        changes=tuple(change for plan in plans for change in _changes(plan)),
        truncated=False,
    )


def _plan_counts(plan: Plan) -> Mapping[str, int]:
    kinds = {
        "added": len(plan.requests) - len(plan.changed),
        "changed": len(plan.changed),
        "unchanged": plan.n_unchanged,
        "skipped": plan.skip_counts.total(),
        "failed": len(plan.failures) + len(plan.broken),
    }
    others = {"bytes": plan.n_bytes, "removed": len(plan.removed), "ignored": len(plan.ignored)}
    return {"files": sum(kinds.values()), **kinds, **others}


def _changes(plan: Plan) -> Iterator[Change]:
    for request in plan.requests:
        path = request.source.path
        yield Change(path, "update" if path in plan.changed else "add", None)
    for removed in plan.removed:
        yield Change(removed, "remove", None)
    for failure in (*plan.failures, *plan.broken):
        yield Change(failure.path, "fail", failure.message)
    for skipped in plan.skipped:
        yield Change(skipped.path, "skip", f"{skipped.reason} {skipped.detail}".rstrip())
    for ignored in plan.ignored:
        yield Change(ignored.path, "ignore", ignored.rule)
