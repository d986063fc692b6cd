"""Records of index runs, running or ended, and of files that were not indexed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from directory_indexer.docstore.runs import Outcome, Phase
from directory_indexer.lazy import lazily
from directory_indexer.wire.fields import Only
from directory_indexer.wire.objects import timestamp

with lazily:
    from directory_indexer.docstore.runs import RunRecord
    from directory_indexer.files import FileFailure, SkippedFile


QUEUED, RUNNING = "queued", "running"
FILE_COUNTS = ("added", "changed", "moved", "removed", "unchanged", "skipped", "failed")
_KILLED = "its process ended without a word"


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
        started_at=timestamp(record.started_at),
        heartbeat_at=timestamp(record.heartbeat_at),
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


def _state(record: RunRecord, *, goes_on: bool) -> str:
    if not goes_on:
        return record.outcome or (Outcome.PAUSED if record.is_paused else Outcome.FAILED)
    return QUEUED if record.progress.phase is Phase.WAITING else RUNNING
