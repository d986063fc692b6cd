"""Records of background work: index runs with their plans and outcomes, files not indexed, and operations.

A plan or an outcome has counts and paths. An operation is background work of a server that has an id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from directory_indexer.api import (
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
    from directory_indexer.indexing.report import IndexReport, WorkEstimate
    from directory_indexer.storage.documents.runs import RunRecord
    from directory_indexer.storage.registry.operations import OperationRow
    from directory_indexer.storage.registry.stored_documents import StoredDocument

QUEUED, RUNNING = "queued", "running"
FILE_COUNTS = ("added", "changed", "moved", "removed", "unchanged", "skipped", "failed")
_KILLED = "its process ended unexpectedly"

Added = Annotated[int, "New files."]
Changed = Annotated[int, "Files with a different size, time or content."]
Moved = Annotated[int, "Files with a new path."]
Unchanged = Annotated[int, "Unchanged files."]
Removed = Annotated[int, "Files removed from the index."]
Ignored = Annotated[int, "Files and directories excluded by a rule."]
Seen = Annotated[int, "Files seen: the sum of the following counts without removed and ignored."]
Read = Annotated[int, "Bytes to read."]

_STATES = {"queued": "queued", "words": "running", "complete": "completed", "failed": "failed", "deleting": "cancelled"}
"""The states of an ingest operation by the states of its document."""


class Failure(NamedTuple):
    """A file that could not be processed."""

    path: Annotated[str, "Absolute path."]
    stage: Annotated[str, "walk, read, extract or embed."]
    message: Annotated[str, "What went wrong."]


class SkippedEntry(NamedTuple):
    """A file with nothing to index."""

    path: Annotated[str, "Absolute path."]
    reason: Annotated[str, "Why it was skipped."]
    detail: Annotated[str | None, "Details, such as the kind of a binary file."]


class Run(NamedTuple):
    """The current state of an index run."""

    id: Annotated[str | None, "Id of the run, once it has started."]
    state: Annotated[str, "queued, running, completed, interrupted, paused, out of time or failed."]
    directories: Annotated[tuple[str, ...], "The directories that the run updates."]
    phase: Annotated[str, "Its current phase."]
    message: Annotated[str | None, "Why it failed, or a note on what it does or did."]
    verb: Annotated[str, "index or migrate.", Only.PROGRAMS]
    pid: Annotated[int, "Id of its process.", Only.PROGRAMS]
    host: Annotated[str, "Host of that process.", Only.PROGRAMS]
    started_at: Annotated[str | None, "When it started.", Only.PROGRAMS] = None
    heartbeat_at: Annotated[str | None, "When it last reported progress, or ended.", Only.PROGRAMS] = None
    files_done: Annotated[int, "Files processed."] = 0
    files_total: Annotated[int, "Files to process; 0 while unknown."] = 0
    bytes_done: Annotated[int, "Bytes read.", Only.PROGRAMS] = 0
    bytes_total: Annotated[int, "Bytes to read; 0 while unknown.", Only.PROGRAMS] = 0
    chunks_done: Annotated[int, "Passages embedded by this run."] = 0
    chunks_total: Annotated[int, "Passages that this run creates; 0 while unknown."] = 0
    pages_done: Annotated[int, "Scanned pages processed by OCR.", Only.PROGRAMS] = 0
    pages_total: Annotated[int, "Scanned pages to process by OCR; 0 while unknown.", Only.PROGRAMS] = 0
    failed: Annotated[int, "Files that could not be processed so far.", Only.PROGRAMS] = 0
    joined: Annotated[bool | None, "Whether the run was already in progress.", Only.MODELS] = None
    counts: Annotated[
        Mapping[str, int] | None,
        "Files by what was done to them, once it has ended.",
        Only.MODELS,
    ] = None
    next_step: Annotated[str | None, "What to do next.", Only.MODELS] = None
    left_out: Annotated[int | None, "Directories that did not fit into the answer.", Only.MODELS] = None


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


def skipped_of(skipped: SkippedFile) -> SkippedEntry:
    """Return the record of a file without indexable content."""
    return SkippedEntry(skipped.path, skipped.reason, skipped.detail or None)


class IndexedFiles(NamedTuple):
    """The indexed files in the directories of a run, with the members of archives."""

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
    masked: Annotated[int, "Secrets masked in files that were read."]
    bytes: Annotated[int, "Bytes read."]
    pages: Annotated[int, "Scanned pages read by OCR."]
    pages_waiting: Annotated[int, "Scanned pages that wait for OCR."]
    pages_unreadable: Annotated[int, "Scanned pages that OCR could not read."]
    ocr_usage: Annotated[str | None, "Usage of the OCR service by its own count, as text."]
    ocr_refusals: Annotated[Mapping[str, int], "Pages that the configured service refused, by reason."]
    chunks: Annotated[int, "Passages written, which are searchable by words."]
    embedded: Annotated[int, "Vectors computed."]
    reused: Annotated[int, "Vectors reused from an identical text."]
    pending: Annotated[int, "Vectors still missing."]
    refused: Annotated[int, "Passages that the embedding provider rejects; they are searchable by words."]
    truncated_texts: Annotated[int, "Passages that the provider truncated."]
    tokens: Annotated[int, "Tokens sent to the provider, as it counts them."]
    provider_error: Annotated[str | None, "Why vectors are missing."]
    skip_reasons: SkipReasons
    unavailable: Annotated[tuple[str, ...], "Directories that were unavailable; nothing of them was removed."]
    failures: Annotated[tuple[Failure, ...], "The failed files, and the refused passages."]
    truncated: Truncated
    indexed: Annotated[IndexedFiles, "The indexed files of these directories, with members of archives."]


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
    reason: Annotated[str | None, "The reason or rule, if any."]


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
    tokens: Annotated[int, "Estimated number of tokens to embed, without images and audio."]
    pages_waiting: Annotated[int, "Scanned pages that wait for OCR, without those of files still to be read."]
    redone: Annotated[tuple[str, ...], "Work to be repeated, since the index was built with other settings."]
    directories: Annotated[tuple[PlanCounts, ...], "The same counts for each directory."]
    changes: Annotated[
        tuple[Change, ...], "The planned actions by path; files that were skipped before are only counted."
    ]
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


def plan_answer(plans: Sequence[Plan], estimate: WorkEstimate) -> PlanAnswer:
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
    collection: Annotated[str | None, "Its collection; null if it concerns all."]
    state: Annotated[str, "queued, running, paused, completed, interrupted, out of time, failed or cancelled."]
    message: Annotated[str | None, "Its progress, or why it failed."]
    started_at: Annotated[str | None, "When it started."]
    ended_at: Annotated[str | None, "When it ended or was paused."]
    doc_id: Annotated[str | None, "The document of an ingest."] = None
    run: Annotated[Run | None, "The state of an index run."] = None
    result: Annotated[Mapping[str, Any] | None, "The result of completed administrative work."] = None


class OperationList(NamedTuple):
    """Operations."""

    operations: Annotated[tuple[OperationEntry, ...], "The newest ones: administrative work, ingests, index runs."]


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
