"""Reports of index runs, done or planned, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from directory_indexer.docstore.runs import Outcome
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.render.facts import (
    FEW,
    counted_pages,
    ending_of,
    fact,
    failure_lines,
    left_out,
    listed,
    reason_of,
    seconds_taken,
    skip_lines,
    with_advice,
)
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.quantities import count, duration, size
from directory_indexer.render.spans import Line, Span, Style, line

with lazily:
    from directory_indexer.indexing.planner import Plan
    from directory_indexer.indexing.report import EmbeddingEstimate, IndexReport


def index_lines(report: IndexReport, *, paths: PathStyle, verbose: bool = False) -> Iterator[Line]:
    """Format the report of a run; the counts add up to the number of files seen."""
    yield _ending(report, f", {size(report.n_bytes)} read")
    yield _files(report)
    yield fact("removed", count(report.n_removed, "file"))
    yield fact("ignored", f"{report.n_ignored:,} by rules")
    yield from _masked(report)
    yield from _pages(report)
    yield fact("passages", f"{report.n_chunks:,} written")
    vectors = {"computed": report.n_embedded, "reused": report.n_reused, "waiting": report.n_pending}
    yield fact("vectors", listed(vectors, ", "))
    yield from _details(report, paths=paths, verbose=verbose)


def summary_lines(report: IndexReport, *, paths: PathStyle, embeds: bool) -> Iterator[Line]:
    """Format the report of a run on a terminal: one line if nothing changed, else with the next command to type."""
    if report.has_changed_nothing:
        unchanged = f": {count(report.n_unchanged, 'file')} ({duration(report.seconds)})"
        yield line(Span("up to date", Style.GOOD), unchanged)
        yield from _problems(report, paths=paths, verbose=False)
        return
    by_meaning = " and by meaning" if embeds and not report.n_pending else ""
    is_complete = report.outcome is Outcome.COMPLETED
    yield _ending(report, f": searchable by words{by_meaning}" if is_complete else "")
    yield _files(report)
    if report.n_removed:
        yield fact("removed", count(report.n_removed, "file"))
    yield from _masked(report)
    yield from _pages(report)
    if report.n_pending and embeds:
        yield fact("waiting", f"{count(report.n_pending, 'passage')} for vectors")
    yield from _details(report, paths=paths, verbose=False)
    if report.n_added:
        yield fact("next", 'dirindex search "…"')


def _ending(report: IndexReport, more: str) -> Line:
    style = Style.GOOD if report.outcome is Outcome.COMPLETED else Style.WARNING
    return line(Span(ending_of(report.outcome, f"{seconds_taken(report.outcome, report.seconds)}{more}"), style))


def _files(report: IndexReport) -> Line:
    kinds = {
        "added": report.n_added,
        "changed": report.n_changed,
        "moved": report.n_moved,
        "unchanged": report.n_unchanged,
        "skipped": report.n_skipped,
        "failed": report.n_failed,
    }
    return fact("files", f"{report.n_seen:,} seen = {listed(kinds, ' + ')}")


def _masked(report: IndexReport) -> Iterator[Line]:
    if report.n_masked:
        yield fact("masked", count(report.n_masked, "secret"))


def _details(report: IndexReport, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    if report.n_tokens:
        yield fact("sent", f"{report.n_tokens:,} tokens, as the provider counts them")
    if report.n_truncated:
        yield fact("cut", f"{count(report.n_truncated, 'passage')} longer than the model reads: lower chunk_size")
    yield from skip_lines(report.skipped)
    yield from _problems(report, paths=paths, verbose=verbose)


def _problems(report: IndexReport, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    if report.unavailable:
        yield fact("provider", report.unavailable, style=Style.PROBLEM)
    for root in report.unavailable_roots:
        yield fact("missing", Span(paths.format(root), Style.PATH), style=Style.PROBLEM)
    failures = (*report.failures, *report.refused)
    yield from failure_lines(failures, len(failures), paths=paths, verbose=verbose)


def plan_lines(
    plans: Sequence[Plan], estimate: EmbeddingEstimate, *, paths: PathStyle, verbose: bool = False
) -> Iterator[Line]:
    """Format what a run would do; `verbose` lists every file and the rule that excludes one."""
    for plan in plans:
        yield line(Span(paths.format(plan.directory), Style.PATH))
        kinds = {
            "new": len(plan.requests) - len(plan.changed),
            "changed": len(plan.changed),
            "unchanged": plan.n_unchanged,
            "skipped": plan.skip_counts.total(),
            "failed": len(plan.failures) + len(plan.broken),
        }
        yield fact("files", f"{sum(kinds.values()):,} seen = {listed(kinds, ' + ')}")
        yield fact("to read", f"{count(len(plan.requests), 'file')}, {size(plan.n_bytes)}")
        yield fact("to remove", count(len(plan.removed), "file"))
        yield fact("ignored", f"{len(plan.ignored):,} by rules")
        yield from _planned(plan, paths=paths, verbose=verbose)
    if estimate.n_pages:
        yield fact("OCR", with_advice(f"{count(estimate.n_pages, 'page')} waiting", estimate.pages_cost))
    if estimate.n_possible_scans:
        files = count(estimate.n_possible_scans, "PDF or picture", "PDFs and pictures")
        yield fact("OCR", f"scanned pages of {files} to read are not known yet")
    yield fact("to embed", f"about {count(estimate.n_tokens, 'token')} with {estimate.space_name}")
    for work in estimate.redone:
        yield fact("to redo", work)
    yield line(Span("nothing was written", Style.NOTE))


def _planned(plan: Plan, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    changes = [
        *((_verb(plan, request.source.path), request.source.path, "") for request in plan.requests),
        *(("remove", path, "") for path in plan.removed),
        *(("fail", failure.path, failure.message) for failure in (*plan.failures, *plan.broken)),
    ]
    if verbose:
        changes += [("skip", skipped.path, reason_of(skipped)) for skipped in plan.skipped]
        changes += [("ignore", ignored.path, ignored.rule) for ignored in plan.ignored]
    listed_changes = changes if verbose else changes[:FEW]
    for verb, path, reason in listed_changes:
        yield fact(verb, Span(paths.format(path), Style.PATH), Span(f"  {reason}", Style.NOTE))
    yield from left_out(len(changes) - len(listed_changes))


def _verb(plan: Plan, path: FilePath) -> str:
    return "update" if path in plan.changed else "add"


def _pages(report: IndexReport) -> Iterator[Line]:
    pages = {"read": report.n_pages, "waiting": report.n_pages_waiting, "unreadable": report.n_pages_unreadable}
    if any(pages.values()):
        yield fact("OCR", with_advice(counted_pages(pages), report.ocr_advice))
    if report.ocr_usage:
        yield fact("sent", report.ocr_usage)
    for reason, n_pages in report.ocr_refusals:
        yield fact("refused", f"{count(n_pages, 'page')} by {reason}", style=Style.WARNING)
