"""Reports of index runs, done or planned, and of the state of the index, as lines.

The state is its directories, its model, its runs, and what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from directory_indexer.core.files import SkippedFile, SkipReason
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import format_waiting
from directory_indexer.core.paths import FilePath
from directory_indexer.indexing.status import StatusReport, WaitingVectors
from directory_indexer.storage.documents.runs import Outcome, PausedRun, RunRecord
from directory_indexer.storage.documents.statistics import DirectoryStatus
from directory_indexer.text.formatting import (
    Line,
    PathStyle,
    Span,
    Style,
    count,
    duration,
    file_counts,
    line,
    missing_counts,
    percent,
    size,
    time_ago,
)
from directory_indexer.text.reports import (
    FACT_WIDTH,
    FEW,
    fact_line,
    failure_lines,
    format_counts,
    format_ending,
    format_page_counts,
    format_seconds_taken,
    format_skip_reason,
    omission_line,
    skip_lines,
    with_advice,
)

with lazily:
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import IndexReport, WorkEstimate


def index_lines(report: IndexReport, *, paths: PathStyle, verbose: bool = False) -> Iterator[Line]:
    """Format the report of a run."""
    yield _outcome_line(report, f", {size(report.n_bytes)} read")
    yield from _file_count_lines(report)
    yield fact_line("ignored", f"{report.n_ignored:,} by rules")
    yield from _masked_lines(report)
    yield from _page_lines(report)
    yield fact_line("passages", f"{report.n_chunks:,} written")
    by_meaning = {"new": report.n_embedded, "known before": report.n_reused, "waiting": report.n_pending}
    yield fact_line("by meaning", format_counts(by_meaning, ", "))
    yield from _detail_lines(report, paths=paths, verbose=verbose)


def summary_lines(report: IndexReport, *, paths: PathStyle, embeds: bool) -> Iterator[Line]:
    """Format the report of a run on a terminal: one line if nothing changed, else with the next command to type."""
    if report.has_changed_nothing:
        yield line(Span("up to date", Style.GOOD), f": {file_counts(*report.files)} ({duration(report.seconds)})")
        yield from _problem_lines(report, paths=paths, verbose=False)
        return
    by_meaning = " and by meaning" if embeds and not report.n_pending else ""
    is_complete = report.outcome is Outcome.COMPLETED
    yield _outcome_line(report, f": searchable by words{by_meaning}" if is_complete else "")
    yield from _file_count_lines(report)
    yield from _masked_lines(report)
    yield from _page_lines(report)
    if report.n_pending and embeds:
        state = format_waiting(report.n_pending, are_covered=report.are_pending_covered)
        yield fact_line("waiting", f"{count(report.n_pending, 'passage')} {state}")
    yield from _detail_lines(report, paths=paths, verbose=False)
    if report.n_added:
        yield fact_line("next", 'dirindex search "…"')


def _outcome_line(report: IndexReport, more: str) -> Line:
    style = Style.GOOD if report.outcome is Outcome.COMPLETED else Style.WARNING
    return line(
        Span(format_ending(report.outcome, f"{format_seconds_taken(report.outcome, report.seconds)}{more}"), style)
    )


def _file_count_lines(report: IndexReport) -> Iterator[Line]:
    yield fact_line("indexed", file_counts(*report.files))
    kinds = {
        "added": report.n_added,
        "changed": report.n_changed,
        "moved": report.n_moved,
        "removed": report.n_removed,
    }
    yield fact_line("changes", format_counts(kinds, ", "))


def _masked_lines(report: IndexReport) -> Iterator[Line]:
    if report.n_masked:
        yield fact_line("masked", count(report.n_masked, "secret"))


def _detail_lines(report: IndexReport, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    if report.n_tokens:
        yield fact_line("sent", f"{report.n_tokens:,} tokens, as the provider counts them")
    if report.n_truncated:
        yield fact_line("cut", f"{count(report.n_truncated, 'passage')} longer than the model reads: lower chunk_size")
    yield from skip_lines(report.skip_reasons)
    yield from _problem_lines(report, paths=paths, verbose=verbose)


def _problem_lines(report: IndexReport, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    if report.unavailable:
        yield fact_line("provider", report.unavailable, style=Style.PROBLEM)
    for root in report.unavailable_roots:
        yield fact_line("missing", Span(paths.format(root), Style.PATH), style=Style.PROBLEM)
    failures = (*report.failures, *report.refused)
    yield from failure_lines(failures, len(failures), paths=paths, verbose=verbose)


def plan_lines(
    plans: Sequence[Plan], estimate: WorkEstimate, *, paths: PathStyle, verbose: bool = False
) -> Iterator[Line]:
    """Format what a run would do; `verbose` lists every file and the rule that excludes one."""
    for plan in plans:
        yield line(Span(paths.format(plan.directory), Style.PATH))
        n_failed = len(plan.failures) + len(plan.broken)
        n_readable = len(plan.requests) + plan.n_unchanged
        yield fact_line("seen", file_counts(n_readable, plan.skip_counts.total(), n_failed))
        kinds = {
            "new": len(plan.requests) - len(plan.changed),
            "changed": len(plan.changed),
            "removed": len(plan.removed),
        }
        yield fact_line("changes", format_counts(kinds, ", "))
        yield fact_line("to read", f"{count(len(plan.requests), 'file')}, {size(plan.n_bytes)}")
        yield fact_line("ignored", f"{len(plan.ignored):,} by rules")
        yield from _plan_of_root_lines(plan, paths=paths, verbose=verbose)
    if estimate.n_pages:
        yield fact_line("OCR", with_advice(f"{count(estimate.n_pages, 'page')} waiting", estimate.pages_cost))
    if estimate.n_possible_scans:
        files = count(estimate.n_possible_scans, "PDF or picture", "PDFs and pictures")
        yield fact_line("OCR", f"scanned pages of {files} to read are not known yet")
    yield fact_line("by meaning", f"about {count(estimate.n_tokens, 'token')} to read with {estimate.space_name}")
    for work in estimate.redone:
        yield fact_line("to redo", work)
    yield line(Span("no file was read, and the index is as it was", Style.NOTE))


def _plan_of_root_lines(plan: Plan, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    changes = [
        *((_change_verb(plan, request.source.path), request.source.path, "") for request in plan.requests),
        *(("remove", path, "") for path in plan.removed),
        *(("fail", failure.path, failure.message) for failure in (*plan.failures, *plan.broken)),
    ]
    if verbose:
        changes += [("skip", skipped.path, format_skip_reason(skipped)) for skipped in plan.skipped]
        changes += [("ignore", ignored.path, ignored.rule) for ignored in plan.ignored]
    listed_changes = changes if verbose else changes[:FEW]
    for verb, path, reason in listed_changes:
        yield fact_line(verb, Span(paths.format(path), Style.PATH), Span(f"  {reason}", Style.NOTE))
    yield from omission_line(len(changes) - len(listed_changes))


def _change_verb(plan: Plan, path: FilePath) -> str:
    return "update" if path in plan.changed else "add"


def _page_lines(report: IndexReport) -> Iterator[Line]:
    pages = {"read": report.n_pages, "waiting": report.n_pages_waiting, "unreadable": report.n_pages_unreadable}
    if any(pages.values()):
        yield fact_line("OCR", with_advice(format_page_counts(pages), report.ocr_advice))
    if report.ocr_usage:
        yield fact_line("sent", report.ocr_usage)
    for reason, n_pages in report.ocr_refusals:
        yield fact_line("refused", f"{count(n_pages, 'page')} by {reason}", style=Style.WARNING)


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
        yield fact_line("masked", count(n_masked, "secret"))
    yield from _scan_lines(report, paths=paths, verbose=verbose)
    yield from _waiting_lines(report.waiting)
    yield from failure_lines(report.failures, n_failed, paths=paths, verbose=verbose)
    yield fact_line("model", _format_model(report))
    yield fact_line("on disk", _format_disk_use(report))
    if report.watch_advice:
        yield fact_line("watching", report.watch_advice)
    yield from _run_lines(report, now=now, paths=paths)


def _run_lines(report: StatusReport, *, now: float, paths: PathStyle) -> Iterator[Line]:
    if report.running:
        yield fact_line("running", _format_running(report.running, now=now))
    for paused in report.paused:
        yield fact_line("paused", f"{_format_paused(paused, paths)}, {time_ago(paused.paused_at, now=now)}")
    if report.last_run and report.last_run != report.running and not report.last_run.is_paused:
        yield fact_line("last run", _format_ended(report.last_run, now=now))


def paused_lines(paused: Sequence[PausedRun], requested: Sequence[RunRecord], *, paths: PathStyle) -> Iterator[Line]:
    """Yield the paused runs, and which of the runs to be paused had completed before."""
    for run in paused:
        yield fact_line("paused", _format_paused(run, paths))
    for done in {record.id for record in requested} - {run.run_id for run in paused}:
        yield fact_line("done", f"run-{done} had done everything before it could stop")


def _directory_table(directories: Sequence[DirectoryStatus], *, now: float, paths: PathStyle) -> Iterator[Line]:
    if not directories:
        yield line("no directory is indexed; add one: dirindex index PATH")
        return
    rows = [
        ("words", "meaning", "files", "size", "indexed"),
        *(_directory_cells(directory, now=now) for directory in directories),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    places = [
        Span("directory", Style.NOTE),
        *(Span(paths.format(directory.path), Style.SHORTENED_PATH) for directory in directories),
    ]
    missing = [False, *(not directory.is_available for directory in directories)]
    for row, place, is_missing in zip(rows, places, missing, strict=True):
        cells = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        style = Style.NOTE if row is rows[0] else Style.PLAIN
        yield line(Span(f"{cells}  ", style), place, Span("  not available" if is_missing else "", Style.PROBLEM))


def _directory_cells(directory: DirectoryStatus, *, now: float) -> tuple[str, ...]:
    # Both are shares of the same files: a failed file is not found by meaning, either.
    n_files = directory.n_files + directory.n_failed
    return (
        percent(directory.n_files, n_files),
        percent(directory.n_files * directory.n_embedded, n_files * directory.n_chunks),
        f"{directory.n_files:,}{missing_counts(directory.n_skipped, directory.n_failed)}",
        size(directory.n_bytes),
        "never" if directory.completed_at is None else time_ago(directory.completed_at, now=now),
    )


def _scan_lines(report: StatusReport, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    scans = report.scans
    if any(scans):
        pages = {"read": scans.n_read, "waiting": scans.n_waiting, "unreadable": scans.n_failed}
        yield fact_line("OCR", with_advice(format_page_counts(pages), report.ocr_advice))
    for path, scan in report.unreadable if verbose else ():
        yield line(Span(paths.format(path), Style.PATH), f"  page {scan.page}: {scan.problem}", indent=FACT_WIDTH)


def _waiting_lines(waiting: WaitingVectors) -> Iterator[Line]:
    if waiting.n_chunks:
        cost = f"{waiting.n_tokens:,} tokens"
        if waiting.seconds is not None:
            cost += f", about {duration(waiting.seconds)}"
        state = format_waiting(waiting.n_chunks, are_covered=waiting.are_covered)
        yield fact_line("waiting", f"{count(waiting.n_chunks, 'passage')} {state}: {cost}")


def _skipped_files(files: Sequence[SkippedFile], n_skipped: int, *, paths: PathStyle) -> Iterator[Line]:
    for file in files:
        yield line(Span(paths.format(file.path), Style.PATH), f"  {format_skip_reason(file)}", indent=FACT_WIDTH)
    if n_skipped > len(files):
        yield line(Span(f"and {n_skipped - len(files):,} more", Style.NOTE), indent=FACT_WIDTH)


def _format_disk_use(report: StatusReport) -> str:
    # The vectors of a small index stay in the database until they are worth a file.
    by_meaning = f", {size(report.n_vector_bytes)} for search by meaning" if report.n_vector_bytes else ""
    of_all = "" if report.is_whole else ", for all directories"
    return f"{size(report.n_database_bytes)} in the database{by_meaning}{of_all}"


def _format_model(report: StatusReport) -> str:
    return with_advice(_format_answering(report), report.model_advice)


def _format_answering(report: StatusReport) -> str:
    space = report.space
    if space is None:
        return "none yet"
    dimensions = f", {space.dimensions} dimensions" if space.dimensions else ""
    following = report.next_space
    until = f", until all is searchable with {following.model} ({following.provider})" if following else ""
    return f"{space.model} ({space.provider}{dimensions}){until}"


def _format_running(run: RunRecord, *, now: float) -> str:
    progress = run.progress
    done, total, noun = (
        (progress.chunks_done, progress.chunks_total, "passages")
        if progress.phase.is_measured_in_chunks
        else (progress.files_done, progress.files_total, "files")
    )
    share_done = f", {done:,} of {total:,} {noun} ({percent(done, total)})" if total else ""
    silent = now - run.heartbeat_at
    silence = f"; no sign of life for {duration(silent)}" if silent > _SILENT_SECONDS else ""
    notice = f", {run.message}" if run.message else ""
    process = f"process {run.pid} on {run.host}"
    started = f"started {time_ago(run.started_at, now=now)}"
    return f"{progress.phase.description}{share_done}{notice}, {started} ({process}){silence}"


def _format_paused(run: PausedRun, paths: PathStyle) -> str:
    places = ", ".join(map(paths.format, run.directories)) or "all directories"
    return f"run-{run.run_id} over {places}; dirindex index --resume goes on with it"


def _format_ended(run: RunRecord, *, now: float) -> str:
    moment = time_ago(run.heartbeat_at, now=now)
    if run.outcome is None:
        return f"stopped without a word {moment}"
    return format_ending(run.outcome, moment) + (f": {run.message}" if run.message else "")
