"""Records of background work: index runs with their plans and outcomes, files not indexed, and operations.

A plan or an outcome has counts and paths. An operation is background work of a server that has an id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from directory_indexer.api.fields import (
    Failed,
    Files,
    Only,
    Outcomes,
    Seconds,
    Skipped,
    SkipReasons,
    Truncated,
    format_timestamp,
)
from directory_indexer.core.lazy import lazily
from directory_indexer.storage.documents.runs import Outcome, Phase

with lazily:
    from directory_indexer.core.files import FileFailure, SkippedFile
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import EmbeddingEstimate, IndexReport
    from directory_indexer.storage.documents.runs import RunRecord
    from directory_indexer.storage.registry.operations import OperationRow
    from directory_indexer.storage.registry.stored_documents import StoredDocument

QUEUED, RUNNING = "queued", "running"
FILE_COUNTS = ("added", "changed", "moved", "removed", "unchanged", "skipped", "failed")
_KILLED = "its process ended without a word"

Added = Annotated[int, "Files that are new."]
Changed = Annotated[int, "Files whose size, time or content differs."]
Moved = Annotated[int, "Files that were elsewhere before."]
Unchanged = Annotated[int, "Files that are as they were."]
Removed = Annotated[int, "Files that leave the index."]
Ignored = Annotated[int, "Files and directories that a rule leaves out."]
Seen = Annotated[int, "Files that were seen: the sum of those that follow, but for the removed and ignored."]
Read = Annotated[int, "Bytes to read."]

_STATES = {"queued": "queued", "words": "running", "complete": "completed", "failed": "failed", "deleting": "cancelled"}
"""The states of an ingest operation by the states of its document."""


class Failure(NamedTuple):
    """A file that could not be processed."""

    path: Annotated[str, "Absolute path."]
    stage: Annotated[str, "walk, read, extract or embed."]
    message: Annotated[str, "What went wrong."]


class SkippedOne(NamedTuple):
    """A file that holds nothing to index."""

    path: Annotated[str, "Absolute path."]
    reason: Annotated[str, "Why it is left out."]
    detail: Annotated[str | None, "Such as the kind of a binary file."]


class Run(NamedTuple):
    """An index run as it is now."""

    id: Annotated[str | None, "Name of the run, once it has begun."]
    state: Annotated[str, "queued, running, completed, interrupted, paused, out of time or failed."]
    directories: Annotated[tuple[str, ...], "What the run brings up to date."]
    phase: Annotated[str, "What it is doing."]
    message: Annotated[str | None, "Why it failed, or what to know while it goes on."]
    verb: Annotated[str, "index or migrate.", Only.PROGRAMS]
    pid: Annotated[int, "Its process.", Only.PROGRAMS]
    host: Annotated[str, "Where that runs.", Only.PROGRAMS]
    started_at: Annotated[str | None, "When it began.", Only.PROGRAMS] = None
    heartbeat_at: Annotated[str | None, "Its last sign of life, or its end.", Only.PROGRAMS] = None
    files_done: Annotated[int, "Files looked at."] = 0
    files_total: Annotated[int, "Files to look at; 0 while that is not known."] = 0
    bytes_done: Annotated[int, "Bytes read.", Only.PROGRAMS] = 0
    bytes_total: Annotated[int, "Bytes to read; 0 while that is not known.", Only.PROGRAMS] = 0
    chunks_done: Annotated[int, "Passages of this run that can be found by meaning."] = 0
    chunks_total: Annotated[int, "Passages that this run makes; 0 while that is not known."] = 0
    pages_done: Annotated[int, "Scanned pages that OCR is done with.", Only.PROGRAMS] = 0
    pages_total: Annotated[int, "Scanned pages that waited for OCR; 0 while that is not known.", Only.PROGRAMS] = 0
    failed: Annotated[int, "Files that could not be processed so far.", Only.PROGRAMS] = 0
    joined: Annotated[bool | None, "True when it was going on already.", Only.MODELS] = None
    counts: Annotated[
        Mapping[str, int] | None,
        "What was done to how many files, once it has ended.",
        Only.MODELS,
    ] = None
    next_step: Annotated[str | None, "What to do now.", Only.MODELS] = None


def run_of(record: RunRecord, *, goes_on: bool) -> Run:
    """Return the record of a run; a run that neither is running nor has an outcome was killed."""
    progress = record.progress
    return Run(
        id=f"run-{record.id}",
        state=_state(record, goes_on=goes_on),
        directories=record.directories,
        phase=progress.phase,
        message=(record.message or None) if record.outcome or goes_on else _KILLED,
        verb=record.verb,
        pid=record.pid,
        host=record.host,
        started_at=format_timestamp(record.started_at),
        heartbeat_at=format_timestamp(record.heartbeat_at),
        files_done=progress.files_done,
        files_total=progress.files_total,
        bytes_done=progress.bytes_done,
        bytes_total=progress.bytes_total,
        chunks_done=progress.chunks_done,
        chunks_total=progress.chunks_total,
        pages_done=progress.pages_done,
        pages_total=progress.pages_total,
        failed=progress.n_failed,
    )


def failure_of(failure: FileFailure) -> Failure:
    """Return the record of a file that could not be processed."""
    return Failure(failure.path, failure.stage, failure.message)


def skipped_of(skipped: SkippedFile) -> SkippedOne:
    """Return the record of a file without indexable content."""
    return SkippedOne(skipped.path, skipped.reason, skipped.detail or None)


class IndexedFiles(NamedTuple):
    """The files that the index knows in the directories of a run, with the members of archives."""

    files: Files
    skipped: Skipped
    failed: Failed


class RunReport(NamedTuple):
    """The outcome of a run."""

    state: Outcomes
    seconds: Seconds
    files: Seen
    added: Added
    changed: Changed
    moved: Moved
    unchanged: Unchanged
    skipped: Skipped
    failed: Failed
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
    indexed: Annotated[IndexedFiles, "What the index holds of these directories now, with members of archives."]


class PlanCounts(NamedTuple):
    """The plan of a run for one directory, as counts."""

    path: Annotated[str, "Absolute path of the directory."]
    files: Seen
    added: Added
    changed: Changed
    unchanged: Unchanged
    skipped: Skipped
    failed: Failed
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
    skipped: Skipped
    failed: Failed
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
        indexed=IndexedFiles(*report.files),
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


class OperationEntry(NamedTuple):
    """The state of an operation."""

    id: Annotated[str, "Its id."]
    kind: Annotated[str, "index, ingest, optimize, rebuild, backup or purge."]
    collection: Annotated[str | None, "The collection that it is about; null where it is about all of them."]
    state: Annotated[str, "queued, running, paused, completed, interrupted, out of time, failed or cancelled."]
    message: Annotated[str | None, "What it does, why it failed, or what was met."]
    started_at: Annotated[str | None, "When it began."]
    ended_at: Annotated[str | None, "When it ended or was paused."]
    doc_id: Annotated[str | None, "Of an ingest: the document."] = None
    run: Annotated[Run | None, "Of an index run: how far it is."] = None
    result: Annotated[Mapping[str, Any] | None, "Of administrative work that is completed: what came out."] = None


class OperationList(NamedTuple):
    """Operations."""

    operations: Annotated[tuple[OperationEntry, ...], "The newest ones: administrative ones, ingests, index runs."]


def run_entry(run: Run, *, name: str, collection: str, has_ended: bool) -> OperationEntry:
    """Return the record of an index run."""
    return OperationEntry(
        id=name,
        kind="index",
        collection=collection,
        state=run.state,
        message=run.message,
        started_at=run.started_at,
        ended_at=run.heartbeat_at if has_ended else None,
        run=run._replace(id=name),
    )


def ingest_entry(document: StoredDocument, *, name: str, version: int) -> OperationEntry:
    """Return the record of the ingestion of a version of a document."""
    is_newer = document.version > version
    if version == document.cancelled:
        state, message = "cancelled", "the document is as it was before"
    elif is_newer:
        state, message = "completed", "the document was sent again since"
    else:
        state, message = _STATES[document.state], document.message
    is_paused = document.is_paused and state in {"queued", "running"}
    return OperationEntry(
        id=name,
        kind="ingest",
        collection=document.collection,
        state="paused" if is_paused else state,
        message=message or None,
        started_at=format_timestamp(document.changed_at),
        ended_at=None,
        doc_id=document.doc_id,
    )


def administrative_entry(row: OperationRow, *, name: str) -> OperationEntry:
    """Return the record of an administrative operation."""
    return OperationEntry(
        id=name,
        kind=row.kind,
        collection=row.collection or None,
        state=row.state,
        message=row.message or None,
        started_at=format_timestamp(row.started_at),
        ended_at=format_timestamp(row.ended_at),
        result=row.result or None,
    )


def _state(record: RunRecord, *, goes_on: bool) -> str:
    if not goes_on:
        return record.outcome or (Outcome.PAUSED if record.is_paused else Outcome.FAILED)
    return QUEUED if record.progress.phase is Phase.WAITING else RUNNING


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
