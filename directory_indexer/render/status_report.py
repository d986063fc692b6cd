"""The state of the index as lines: its directories, its model, its runs, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from directory_indexer.docstore.pauses import PausedRun
from directory_indexer.docstore.runs import RunRecord
from directory_indexer.docstore.summaries import DirectoryStatus
from directory_indexer.files import SkippedFile, SkipReason
from directory_indexer.render.facts import (
    FACT_WIDTH,
    counted_pages,
    ending_of,
    fact,
    failure_lines,
    reason_of,
    skip_lines,
    with_advice,
)
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.progress import phase_name
from directory_indexer.render.quantities import ago, count, duration, percent, size
from directory_indexer.render.spans import Line, Span, Style, line
from directory_indexer.status import StatusReport, WaitingVectors

_SILENT_SECONDS: Final = 60


def status_lines(report: StatusReport, *, now: float, paths: PathStyle, verbose: bool = False) -> Iterator[Line]:
    """Yield the state of the index: what is searchable by words and by meaning, and what is not and why."""
    yield from _directory_table(report.directories, now=now, paths=paths)
    skipped: Counter[SkipReason] = Counter()
    for directory in report.directories:
        skipped.update(dict(directory.skipped))
    n_failed = sum(directory.n_failed + directory.n_refused for directory in report.directories)
    if report.directories:
        yield line()
    yield from skip_lines(skipped.most_common())
    if verbose:
        yield from _skipped_files(report.skipped_files, skipped.total(), paths=paths)
    if n_masked := sum(directory.n_masked for directory in report.directories):
        yield fact("masked", count(n_masked, "secret"))
    yield from _scans(report, paths=paths, verbose=verbose)
    yield from _waiting(report.waiting)
    yield from failure_lines(report.failures, n_failed, paths=paths, verbose=verbose)
    yield fact("model", _model(report))
    yield fact("on disk", _on_disk(report))
    if report.watch_advice:
        yield fact("watching", report.watch_advice)
    yield from _runs(report, now=now, paths=paths)


def _runs(report: StatusReport, *, now: float, paths: PathStyle) -> Iterator[Line]:
    if report.running:
        yield fact("running", _running(report.running, now=now))
    for paused in report.paused:
        yield fact("paused", f"{_paused(paused, paths)}, {ago(paused.paused_at, now=now)}")
    if report.last_run and report.last_run != report.running and not report.last_run.is_paused:
        yield fact("last run", _ended(report.last_run, now=now))


def paused_lines(paused: Sequence[PausedRun], requested: Sequence[RunRecord], *, paths: PathStyle) -> Iterator[Line]:
    """Yield the paused runs, and which of the runs to be paused had completed before."""
    for run in paused:
        yield fact("paused", _paused(run, paths))
    for done in {record.id for record in requested} - {run.run_id for run in paused}:
        yield fact("done", f"run-{done} had done everything before it could stop")


def _directory_table(directories: Sequence[DirectoryStatus], *, now: float, paths: PathStyle) -> Iterator[Line]:
    if not directories:
        yield line("no directory is indexed; add one: dirindex index PATH")
        return
    rows = [
        ("words", "meaning", "to embed", "files", "size", "indexed"),
        *(_cells(directory, now=now) for directory in directories),
    ]
    if not any(directory.n_tokens_to_embed for directory in directories):
        rows = [(words, meaning, *rest) for words, meaning, _, *rest in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    places = [
        Span("directory", Style.NOTE),
        *(Span(paths.format(directory.path), Style.PATH) for directory in directories),
    ]
    missing = [False, *(not directory.is_available for directory in directories)]
    for row, place, is_missing in zip(rows, places, missing, strict=True):
        cells = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        style = Style.NOTE if row is rows[0] else Style.PLAIN
        yield line(Span(f"{cells}  ", style), place, Span("  not available" if is_missing else "", Style.PROBLEM))


def _cells(directory: DirectoryStatus, *, now: float) -> tuple[str, ...]:
    # Both are shares of the same files: a failed file is not found by meaning, either.
    n_files = directory.n_files + directory.n_failed
    return (
        percent(directory.n_files, n_files),
        percent(directory.n_files * directory.n_embedded, n_files * directory.n_chunks),
        _cost(directory),
        f"{directory.n_files:,}",
        size(directory.n_bytes),
        "never" if directory.completed_at is None else ago(directory.completed_at, now=now),
    )


def _cost(directory: DirectoryStatus) -> str:
    if not directory.n_tokens_to_embed:
        return "-"
    if directory.seconds_to_embed is None:
        return count(directory.n_tokens_to_embed, "token")
    return duration(directory.seconds_to_embed)


def _scans(report: StatusReport, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    scans = report.scans
    if any(scans):
        pages = {"read": scans.n_read, "waiting": scans.n_waiting, "unreadable": scans.n_failed}
        yield fact("OCR", with_advice(counted_pages(pages), report.ocr_advice))
    for path, scan in report.unreadable if verbose else ():
        yield line(Span(paths.format(path), Style.PATH), f"  page {scan.page}: {scan.problem}", indent=FACT_WIDTH)


def _waiting(waiting: WaitingVectors) -> Iterator[Line]:
    if waiting.n_chunks:
        cover = ", found by the first pass" if waiting.is_covered else ""
        cost = f"{waiting.n_tokens:,} tokens"
        if waiting.seconds is not None:
            cost += f", about {duration(waiting.seconds)}"
        yield fact("waiting", f"{count(waiting.n_chunks, 'passage')} for vectors{cover}: {cost} to embed")


def _skipped_files(files: Sequence[SkippedFile], n_skipped: int, *, paths: PathStyle) -> Iterator[Line]:
    for file in files:
        yield line(Span(paths.format(file.path), Style.PATH), f"  {reason_of(file)}", indent=FACT_WIDTH)
    if n_skipped > len(files):
        yield line(Span(f"and {n_skipped - len(files):,} more", Style.NOTE), indent=FACT_WIDTH)


def _on_disk(report: StatusReport) -> str:
    # The vectors of a small index stay in the database until they are worth a file.
    vectors = f", {size(report.n_vector_bytes)} of vectors" if report.n_vector_bytes else ""
    of_all = "" if report.is_whole else ", for all directories"
    return f"{size(report.n_database_bytes)} in the database{vectors}{of_all}"


def _model(report: StatusReport) -> str:
    return with_advice(_answering(report), report.model_advice)


def _answering(report: StatusReport) -> str:
    space = report.space
    if space is None:
        return "none yet"
    dimensions = f", {space.dimensions} dimensions" if space.dimensions else ""
    following = report.next_space
    until = f", until all is embedded with {following.model} ({following.provider})" if following else ""
    return f"{space.model} ({space.provider}{dimensions}){until}"


def _running(run: RunRecord, *, now: float) -> str:
    progress = run.progress
    done, total, noun = (
        (progress.chunks_done, progress.chunks_total, "passages")
        if progress.phase.counts_chunks
        else (progress.files_done, progress.files_total, "files")
    )
    share_done = f", {done:,} of {total:,} {noun} ({percent(done, total)})" if total else ""
    silent = now - run.heartbeat_at
    silence = f"; no sign of life for {duration(silent)}" if silent > _SILENT_SECONDS else ""
    notice = f", {run.message}" if run.message else ""
    process = f"process {run.pid} on {run.host}"
    return (
        f"{phase_name(progress.phase)}{share_done}{notice}, started {ago(run.started_at, now=now)} ({process}){silence}"
    )


def _paused(run: PausedRun, paths: PathStyle) -> str:
    places = ", ".join(map(paths.format, run.directories)) or "all directories"
    return f"run-{run.run_id} over {places}; dirindex index --resume goes on with it"


def _ended(run: RunRecord, *, now: float) -> str:
    moment = ago(run.heartbeat_at, now=now)
    if run.outcome is None:
        return f"stopped without a word {moment}"
    return ending_of(run.outcome, moment) + (f": {run.message}" if run.message else "")
