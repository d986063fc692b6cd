"""Reports as lines: what a run did or would do, how the index stands, what a check-up found, what is configured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from directory_indexer.docstore.pauses import PausedRun
from directory_indexer.docstore.runs import Outcome, RunRecord
from directory_indexer.docstore.summaries import DirectoryStatus
from directory_indexer.files import FileFailure, SkippedFile, SkipReason
from directory_indexer.findings import Finding, Verdict
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.progress import phase_name
from directory_indexer.render.quantities import ago, count, duration, percent, size
from directory_indexer.render.spans import Line, Span, Style, line
from directory_indexer.status import StatusReport, WaitingVectors

with lazily:
    from directory_indexer.config import LoadedConfig
    from directory_indexer.config.sources import Setting
    from directory_indexer.exporting.exporter import ExportReport
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import EmbeddingEstimate, IndexReport, MigrationReport


_FEW = 5
_FACT_WIDTH = 11
_SILENT_SECONDS = 60
_ENDINGS = {
    Outcome.COMPLETED: "done",
    Outcome.INTERRUPTED: "stopped; the next run goes on from here",
    Outcome.PAUSED: "paused; dirindex index --resume goes on from here",
    Outcome.OUT_OF_TIME: "out of time; the next run goes on from here",
    Outcome.FAILED: "failed",
}
_VERDICTS = {
    Verdict.OK: ("ok", Style.GOOD),
    Verdict.REPAIRED: ("repaired", Style.GOOD),
    Verdict.WARNING: ("warning", Style.WARNING),
    Verdict.PROBLEM: ("problem", Style.PROBLEM),
}


def migration_lines(report: MigrationReport) -> Iterator[Line]:
    """Say how many vectors are in both stores now, and how both answer the same queries."""
    ending = Style.GOOD if report.outcome is Outcome.COMPLETED else Style.WARNING
    yield line(Span(_ENDINGS[report.outcome], ending), f" in {duration(report.seconds)}")
    yield _fact("copied", f"{report.n_copied:,} of {count(report.n_vectors, 'vector')}")
    if report.n_compared_hits:
        yield _fact(
            "checked", f"{report.n_same_hits:,} of {report.n_compared_hits:,} sample hits are as near as before"
        )


def export_lines(report: ExportReport, *, paths: PathStyle) -> Iterator[Line]:
    """Say what an export holds and where it is."""
    if report.file is None or report.outcome is not Outcome.COMPLETED:
        yield line(Span("stopped; nothing was written", Style.WARNING))
        return
    yield line(Span("done", Style.GOOD), f" in {duration(report.seconds)}")
    holds = f"{count(report.n_chunks, 'chunk')} of {count(report.n_files, 'file')}, {size(report.n_bytes)}"
    yield _fact("written", f"{paths.shown(report.file)}: {holds}")
    if report.tracked_in and report.format.text:
        yield _fact("note", f"it lies in {paths.shown(report.tracked_in)}, so the next run may index it")


def index_lines(report: IndexReport, *, paths: PathStyle, verbose: bool = False) -> Iterator[Line]:
    """Sum up a run, so that every file that was seen is accounted for."""
    ending = Style.GOOD if report.outcome is Outcome.COMPLETED else Style.WARNING
    yield line(Span(_ENDINGS[report.outcome], ending), f" in {duration(report.seconds)}, {size(report.n_bytes)} read")
    kinds = {
        "added": report.n_added,
        "changed": report.n_changed,
        "moved": report.n_moved,
        "unchanged": report.n_unchanged,
        "skipped": report.n_skipped,
        "failed": report.n_failed,
    }
    yield _fact("files", f"{report.n_seen:,} seen = {_listed(kinds, ' + ')}")
    yield _fact("removed", count(report.n_removed, "file"))
    yield _fact("ignored", f"{report.n_ignored:,} by rules")
    if report.n_masked:
        yield _fact("masked", count(report.n_masked, "secret"))
    yield from _pages(report)
    yield _fact("chunks", f"{report.n_chunks:,} written")
    vectors = {"computed": report.n_embedded, "reused": report.n_reused, "waiting": report.n_pending}
    yield _fact("vectors", _listed(vectors, ", "))
    if report.n_tokens:
        yield _fact("sent", f"{report.n_tokens:,} tokens, as the provider counts them")
    if report.n_truncated:
        yield _fact("cut", f"{count(report.n_truncated, 'passage')} longer than the model reads: lower chunk_size")
    if report.unavailable:
        yield _fact("provider", report.unavailable, style=Style.PROBLEM)
    yield from _skips(report.skipped)
    for root in report.unavailable_roots:
        yield _fact("missing", Span(paths.shown(root), Style.PATH), style=Style.PROBLEM)
    failures = (*report.failures, *report.refused)
    yield from _failures(failures, len(failures), paths=paths, verbose=verbose)


def plan_lines(
    plans: Sequence[Plan], estimate: EmbeddingEstimate, *, paths: PathStyle, verbose: bool = False
) -> Iterator[Line]:
    """Show what a run would do; `verbose` names every file and the rule that leaves one out."""
    for plan in plans:
        yield line(Span(paths.shown(plan.directory), Style.PATH))
        kinds = {
            "new": len(plan.requests) - len(plan.changed),
            "changed": len(plan.changed),
            "unchanged": plan.n_unchanged,
            "skipped": plan.skip_counts.total(),
            "failed": len(plan.failures) + len(plan.broken),
        }
        yield _fact("files", f"{sum(kinds.values()):,} seen = {_listed(kinds, ' + ')}")
        yield _fact("to read", f"{count(len(plan.requests), 'file')}, {size(plan.n_bytes)}")
        yield _fact("to remove", count(len(plan.removed), "file"))
        yield _fact("ignored", f"{len(plan.ignored):,} by rules")
        yield from _planned(plan, paths=paths, verbose=verbose)
    if estimate.n_pages:
        yield _fact("OCR", _with_advice(f"{count(estimate.n_pages, 'page')} waiting", estimate.pages_cost))
    if estimate.n_possible_scans:
        files = count(estimate.n_possible_scans, "PDF or picture", "PDFs and pictures")
        yield _fact("OCR", f"scanned pages of {files} to read are not known yet")
    yield _fact("to embed", f"about {count(estimate.n_tokens, 'token')} with {estimate.space_name}")
    for work in estimate.redone:
        yield _fact("to redo", work)
    yield line(Span("nothing was written", Style.NOTE))


def status_lines(report: StatusReport, *, now: float, paths: PathStyle, verbose: bool = False) -> Iterator[Line]:
    """Show the index at a glance: what is searchable by words and by meaning, and what is not and why."""
    yield from _directory_table(report.directories, now=now, paths=paths)
    skipped: Counter[SkipReason] = Counter()
    for directory in report.directories:
        skipped.update(dict(directory.skipped))
    n_failed = sum(directory.n_failed + directory.n_refused for directory in report.directories)
    if report.directories:
        yield line()
    yield from _skips(skipped.most_common())
    if verbose:
        yield from _skipped_files(report.skipped_files, skipped.total(), paths=paths)
    if n_masked := sum(directory.n_masked for directory in report.directories):
        yield _fact("masked", count(n_masked, "secret"))
    yield from _scans(report, paths=paths, verbose=verbose)
    yield from _waiting(report.waiting)
    yield from _failures(report.failures, n_failed, paths=paths, verbose=verbose)
    yield _fact("model", _model(report))
    yield _fact("on disk", _on_disk(report))
    if report.running:
        yield _fact("running", _running(report.running, now=now))
    for paused in report.paused:
        yield _fact("paused", f"{_paused(paused, paths)}, {ago(paused.paused_at, now=now)}")
    if report.last_run and report.last_run != report.running and not report.last_run.is_paused:
        yield _fact("last run", _ended(report.last_run, now=now))


def doctor_lines(findings: Sequence[Finding]) -> Iterator[Line]:
    """Show what was checked, what was found, and what to do about it."""
    for finding in findings:
        word, style = _VERDICTS[finding.verdict]
        yield _fact(word, f"{finding.check}: {finding.message}", style=style)
        if finding.hint:
            yield line(Span(finding.hint, Style.NOTE), indent=_FACT_WIDTH)


def config_lines(loaded: LoadedConfig) -> Iterator[Line]:
    """Show every key with its value and where that came from."""
    places = [_where(setting, loaded) for setting in loaded.settings]
    key_width = max(len(setting.key) for setting in loaded.settings) + len("  ")
    place_width = max(map(len, places)) + len("  ")
    for setting, place in zip(loaded.settings, places, strict=True):
        # A value may be a path or a list of any length, so it comes last.
        yield line(Span(place.ljust(place_width), Style.NOTE), _value(setting), indent=key_width, head=setting.key)


def _where(setting: Setting[object], loaded: LoadedConfig) -> str:
    return setting.where if setting.key != "config_file" or loaded.file else f"{setting.where}, does not exist"


def _listed(kinds: Mapping[str, int], separator: str) -> str:
    return separator.join(f"{n:,} {kind}" for kind, n in kinds.items() if n) or "none"


def _planned(plan: Plan, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    changes = [
        *((_verb(plan, request.source.path), request.source.path, "") for request in plan.requests),
        *(("remove", path, "") for path in plan.removed),
        *(("fail", failure.path, failure.message) for failure in (*plan.failures, *plan.broken)),
    ]
    if verbose:
        changes += [("skip", skipped.path, _reason(skipped)) for skipped in plan.skipped]
        changes += [("ignore", ignored.path, ignored.rule) for ignored in plan.ignored]
    shown = changes if verbose else changes[:_FEW]
    for verb, path, reason in shown:
        yield _fact(verb, Span(paths.shown(path), Style.PATH), Span(f"  {reason}", Style.NOTE))
    yield from _left_out(len(changes) - len(shown))


def _verb(plan: Plan, path: FilePath) -> str:
    return "update" if path in plan.changed else "add"


def _directory_table(directories: Sequence[DirectoryStatus], *, now: float, paths: PathStyle) -> Iterator[Line]:
    if not directories:
        yield line("no directory is indexed; add one: dirindex index PATH")
        return
    rows = [
        ("words", "meaning", "to embed", "files", "size", "indexed"),
        *(_cells(one, now=now) for one in directories),
    ]
    if not any(one.n_tokens_to_embed for one in directories):
        rows = [(words, meaning, *rest) for words, meaning, _, *rest in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    places = [Span("directory", Style.NOTE), *(Span(paths.shown(one.path), Style.PATH) for one in directories)]
    missing = [False, *(not one.is_available for one in directories)]
    for row, place, is_missing in zip(rows, places, missing, strict=True):
        cells = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        style = Style.NOTE if row is rows[0] else Style.PLAIN
        yield line(Span(f"{cells}  ", style), place, Span("  not available" if is_missing else "", Style.PROBLEM))


def _cells(directory: DirectoryStatus, *, now: float) -> tuple[str, ...]:
    return (
        percent(directory.n_files, directory.n_files + directory.n_failed),
        percent(directory.n_embedded, directory.n_chunks),
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


def _skips(skipped: Iterable[tuple[SkipReason, int]]) -> Iterator[Line]:
    kinds = {str(reason): n for reason, n in skipped}
    if kinds:
        yield _fact("skipped", _listed(kinds, ", "))


def _pages(report: IndexReport) -> Iterator[Line]:
    pages = {"read": report.n_pages, "waiting": report.n_pages_waiting, "unreadable": report.n_pages_unreadable}
    if any(pages.values()):
        yield _fact("OCR", _with_advice(_counted_pages(pages), report.ocr_advice))
    if report.ocr_usage:
        yield _fact("sent", report.ocr_usage)
    for reason, n_pages in report.ocr_refusals:
        yield _fact("refused", f"{count(n_pages, 'page')} by {reason}", style=Style.WARNING)


def _scans(report: StatusReport, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    scans = report.scans
    if any(scans):
        pages = {"read": scans.n_read, "waiting": scans.n_waiting, "unreadable": scans.n_failed}
        yield _fact("OCR", _with_advice(_counted_pages(pages), report.ocr_advice))
    for path, scan in report.unreadable if verbose else ():
        yield line(Span(paths.shown(path), Style.PATH), f"  page {scan.page}: {scan.problem}", indent=_FACT_WIDTH)


def _waiting(waiting: WaitingVectors) -> Iterator[Line]:
    if waiting.n_chunks:
        cover = ", found by the first pass" if waiting.is_covered else ""
        cost = f"{waiting.n_tokens:,} tokens"
        if waiting.seconds is not None:
            cost += f", about {duration(waiting.seconds)}"
        yield _fact("waiting", f"{count(waiting.n_chunks, 'chunk')} for vectors{cover}: {cost} to embed")


def _counted_pages(pages: Mapping[str, int]) -> str:
    return f"{count(sum(pages.values()), 'page')}: {_listed(pages, ', ')}"


def _with_advice(words: str, advice: str) -> str:
    return f"{words}; {advice}" if advice else words


def _failures(failures: Sequence[FileFailure], n_failed: int, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    if not n_failed:
        return
    yield _fact("failed", f"{n_failed:,}, tried again {_when(failures)}", style=Style.PROBLEM)
    shown = failures if verbose else failures[:_FEW]
    for failure in shown:
        place = Span(paths.shown(failure.path), Style.PATH)
        yield line(place, f"  {failure.stage}: {failure.message}", indent=_FACT_WIDTH)
    yield from _left_out(n_failed - len(shown))


def _when(failures: Sequence[FileFailure]) -> str:
    """Say when a run tries again: what is damaged, or broke a parser, must change before."""
    are_to_blame = {failure.hash is not None for failure in failures}
    moments = ("when they change" if is_to_blame else "by the next run" for is_to_blame in sorted(are_to_blame))
    return ", or ".join(moments)


def _skipped_files(files: Sequence[SkippedFile], n_skipped: int, *, paths: PathStyle) -> Iterator[Line]:
    for one in files:
        yield line(Span(paths.shown(one.path), Style.PATH), f"  {_reason(one)}", indent=_FACT_WIDTH)
    if n_skipped > len(files):
        yield line(Span(f"and {n_skipped - len(files):,} more", Style.NOTE), indent=_FACT_WIDTH)


def _reason(skipped: SkippedFile) -> str:
    return f"{skipped.reason}, {skipped.detail}" if skipped.detail else str(skipped.reason)


def _left_out(n: int) -> Iterator[Line]:
    if n > 0:
        yield line(Span(f"and {n:,} more; --verbose names more of them", Style.NOTE), indent=_FACT_WIDTH)


def _fact(name: str, *words: Span | str, style: Style = Style.NOTE) -> Line:
    return line(*words, indent=_FACT_WIDTH, head=Span(name, style))


def _on_disk(report: StatusReport) -> str:
    # The vectors of a small index stay in the database until enough of them are worth a file.
    vectors = f", {size(report.n_vector_bytes)} of vectors" if report.n_vector_bytes else ""
    return f"{size(report.n_database_bytes)} in the database{vectors}"


def _model(report: StatusReport) -> str:
    return _with_advice(_answering(report), report.model_advice)


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
        (progress.chunks_done, progress.chunks_total, "chunks")
        if progress.phase.counts_chunks
        else (progress.files_done, progress.files_total, "files")
    )
    far = f", {done:,} of {total:,} {noun} ({percent(done, total)})" if total else ""
    silent = now - run.heartbeat_at
    silence = f"; no sign of life for {duration(silent)}" if silent > _SILENT_SECONDS else ""
    notice = f", {run.message}" if run.message else ""
    process = f"process {run.pid} on {run.host}"
    return f"{phase_name(progress.phase)}{far}{notice}, started {ago(run.started_at, now=now)} ({process}){silence}"


def paused_lines(paused: Sequence[PausedRun], asked: Sequence[RunRecord], *, paths: PathStyle) -> Iterator[Line]:
    """Say what is paused now, and which of the runs that were to be paused had ended before."""
    for one in paused:
        yield _fact("paused", _paused(one, paths))
    for done in {one.id for one in asked} - {one.run_id for one in paused}:
        yield _fact("done", f"run-{done} had done everything before it could stop")


def _paused(run: PausedRun, paths: PathStyle) -> str:
    return (
        f"run-{run.run_id} over {', '.join(map(paths.shown, run.directories))}; dirindex index --resume goes on with it"
    )


def _ended(run: RunRecord, *, now: float) -> str:
    ending = _ENDINGS[run.outcome] if run.outcome else "stopped without a word"
    reason = f": {run.message}" if run.outcome and run.message else ""
    return f"{ending}{reason}, {ago(run.heartbeat_at, now=now)}"


def _value(setting: Setting[object]) -> str:
    if setting.value is None:
        return "-"
    if isinstance(setting.value, bool):
        return str(setting.value).lower()
    return ", ".join(setting.value) if isinstance(setting.value, tuple) else str(setting.value)
