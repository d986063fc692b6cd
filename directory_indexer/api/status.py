"""Records of the status of the index: directories, model and runs."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, NamedTuple

from directory_indexer.api import (
    Bytes,
    Chunks,
    Embedded,
    Failed,
    Files,
    IndexedAt,
    Masked,
    Only,
    Skipped,
    SkipReasons,
    Truncated,
    format_timestamp,
)
from directory_indexer.api.runs import Failure, Run, SkippedEntry, failure_of, run_of, skipped_of
from directory_indexer.core.files import SkipReason
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.core.files import Scan
    from directory_indexer.core.fingerprint import EmbeddingSpace
    from directory_indexer.core.paths import FilePath
    from directory_indexer.indexing.status import StatusReport
    from directory_indexer.storage.documents.runs import PausedRun, RunRecord
    from directory_indexer.storage.documents.statistics import DirectoryStatus


class Directory(NamedTuple):
    """A tracked directory."""

    path: Annotated[str, "Absolute path."]
    available: Annotated[bool, "Whether it can be read now."]
    indexed_at: IndexedAt
    files: Files
    bytes: Bytes
    chunks: Chunks
    embedded: Embedded
    skipped: Skipped
    failed: Failed
    masked: Masked
    skip_reasons: SkipReasons
    tokens_to_embed: Annotated[int, "Tokens of the passages that wait for vectors.", Only.PROGRAMS]
    seconds_to_embed: Annotated[
        float | None, "Estimated time to embed them; null if only the provider knows.", Only.PROGRAMS
    ]


class Model(NamedTuple):
    """The embedding model."""

    name: Annotated[str, "Its name."]
    provider: Annotated[str, "Its provider: embedded, ollama or openai.", Only.PROGRAMS]
    dimensions: Annotated[int | None, "Dimensions of its vectors.", Only.PROGRAMS]
    state: Annotated[
        str | None,
        "unloaded, loading, ready or failed; until ready, search uses words only.",
        Only.MODELS,
    ] = None
    message: Annotated[str | None, "Why it failed.", Only.MODELS] = None


class Pages(NamedTuple):
    """Scanned pages."""

    waiting: Annotated[int, "Pages that wait for OCR."]
    read: Annotated[int, "Pages that OCR has read."]
    failed: Annotated[int, "Pages that OCR could not read."]


class UnreadablePage(NamedTuple):
    """A scanned page that OCR could not read."""

    path: Annotated[str, "Absolute path of the document."]
    page: Annotated[int, "Its number, from 1."]
    message: Annotated[str, "What went wrong."]


class EmbeddingBacklog(NamedTuple):
    """The passages that wait for vectors, and the effort to embed them."""

    chunks: Annotated[int, "Passages that wait."]
    tokens: Annotated[int, "Their tokens."]
    covered: Annotated[bool, "Whether approximate vectors find them meanwhile."]
    seconds: Annotated[float | None, "Estimated time to embed them; null if only the provider knows."]


class PausedEntry(NamedTuple):
    """A paused run."""

    id: Annotated[str, "Name of the run."]
    directories: Annotated[tuple[str, ...], "The directories it still has to update."]
    paused_at: Annotated[str | None, "When it was paused."]


class PausedList(NamedTuple):
    """The paused runs."""

    paused: Annotated[tuple[PausedEntry, ...], "All of them; `dirindex index --resume` continues them as one."]


class IndexVersion(NamedTuple):
    """The state of the index, with versions to compare."""

    moment: Annotated[str, "Version of the index, which changes with everything, even the progress of a run."]
    state: Annotated[str, "Version of the searched content, which changes when an answer may change."]
    directories: Annotated[int, "Tracked directories."]
    files: Files
    skipped: Skipped
    failed: Failed
    chunks: Chunks
    embedded: Embedded
    run: Annotated[Run | None, "The index run in progress; null if there is none."]
    advice: Annotated[str | None, "Languages of the index that its model does not support, and what to do."] = None


class StatusAnswer(NamedTuple):
    """The status of the index, in total and by directory."""

    files: Files
    bytes: Bytes
    chunks: Chunks
    embedded: Embedded
    skipped: Skipped
    failed: Failed
    masked: Masked
    skip_reasons: SkipReasons
    pages: Annotated[Pages, "Scanned pages; with a path, of that directory."]
    directories: Annotated[tuple[Directory, ...], "The indexed directories."]
    model: Annotated[Model | None, "The model of the current vectors; null before there are any."]
    next_model: Annotated[Model | None, "The model of the vectors that will replace them."]
    database_bytes: Annotated[int, "Size of the database on disk."]
    vector_bytes: Annotated[int, "Size of the vectors on disk."]
    run: Annotated[Run | None, "The index run in progress, or the last one."]
    paused: Annotated[tuple[PausedEntry, ...], "Paused runs; `dirindex index --resume` continues them."]
    waiting: Annotated[EmbeddingBacklog, "Passages that wait for vectors; with a path, of that directory."]
    failures: Annotated[tuple[Failure, ...], "The failed files, and the passages that the provider refused."]
    truncated: Truncated
    skipped_files: Annotated[tuple[SkippedEntry, ...] | None, "The skipped files; with `--verbose`."] = None
    unreadable_pages: Annotated[
        tuple[UnreadablePage, ...] | None, "The scanned pages that OCR could not read; with `--verbose`."
    ] = None
    watching: Annotated[str | None, "Why directories cannot be watched; missing if they can."] = None


def status_answer(report: StatusReport, *, verbose: bool) -> StatusAnswer:
    """Return the record of the status of the index."""
    directories = report.directories
    reasons = Counter[SkipReason]()
    for directory in directories:
        reasons.update(dict(directory.skipped))
    return StatusAnswer(
        files=sum(directory.n_files for directory in directories),
        bytes=sum(directory.n_bytes for directory in directories),
        chunks=sum(directory.n_chunks for directory in directories),
        embedded=sum(directory.n_embedded for directory in directories),
        skipped=reasons.total(),
        failed=sum(directory.n_failed for directory in directories),
        masked=sum(directory.n_masked for directory in directories),
        skip_reasons=dict(reasons.most_common()),
        pages=Pages(*report.scans),
        directories=tuple(map(directory_of, directories)),
        model=_model(report.space),
        next_model=_model(report.next_space),
        database_bytes=report.n_database_bytes,
        vector_bytes=report.n_vector_bytes,
        run=_run(report.running, report.last_run),
        paused=tuple(map(paused_of, report.paused)),
        waiting=EmbeddingBacklog(*report.waiting),
        failures=tuple(map(failure_of, report.failures)),
        truncated=False,
        skipped_files=tuple(map(skipped_of, report.skipped_files)) if verbose else None,
        unreadable_pages=tuple(_unreadable(*page) for page in report.unreadable) if verbose else None,
        watching=report.watch_advice or None,
    )


def directory_of(directory: DirectoryStatus) -> Directory:
    """Return the record of a tracked directory."""
    return Directory(
        path=directory.path,
        available=directory.is_available,
        indexed_at=format_timestamp(directory.completed_at),
        files=directory.n_files,
        bytes=directory.n_bytes,
        chunks=directory.n_chunks,
        embedded=directory.n_embedded,
        skipped=directory.n_skipped,
        failed=directory.n_failed,
        masked=directory.n_masked,
        skip_reasons=dict(directory.skipped),
        tokens_to_embed=directory.n_tokens_to_embed,
        seconds_to_embed=directory.seconds_to_embed,
    )


def paused_of(run: PausedRun) -> PausedEntry:
    """Return the record of a paused run."""
    return PausedEntry(f"run-{run.run_id}", run.directories, format_timestamp(run.paused_at))


def _unreadable(path: FilePath, scan: Scan) -> UnreadablePage:
    return UnreadablePage(path, scan.page, scan.problem)


def _model(space: EmbeddingSpace | None) -> Model | None:
    return None if space is None else Model(space.model, space.provider, space.dimensions or None)


def _run(running: RunRecord | None, last: RunRecord | None) -> Run | None:
    if running is not None:
        return run_of(running, goes_on=True)
    return None if last is None else run_of(last, goes_on=False)
