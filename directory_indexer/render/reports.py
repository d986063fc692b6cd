"""Short reports as lines: migrations, exports, check-ups and the configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from directory_indexer.docstore.runs import Outcome
from directory_indexer.findings import Finding, Verdict
from directory_indexer.lazy import lazily
from directory_indexer.render.facts import FACT_WIDTH, ending_of, fact, seconds_taken
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.quantities import count, duration, size
from directory_indexer.render.spans import Line, Span, Style, line

with lazily:
    from directory_indexer.config import LoadedConfig
    from directory_indexer.config.sources import Setting
    from directory_indexer.exporting.exporter import ExportReport
    from directory_indexer.indexing.report import MigrationReport


_VERDICTS = {
    Verdict.OK: ("ok", Style.GOOD),
    Verdict.REPAIRED: ("repaired", Style.GOOD),
    Verdict.WARNING: ("warning", Style.WARNING),
    Verdict.PROBLEM: ("problem", Style.PROBLEM),
}


def migration_lines(report: MigrationReport) -> Iterator[Line]:
    """Yield the number of copied vectors, and how the results of sample queries compare."""
    style = Style.GOOD if report.outcome is Outcome.COMPLETED else Style.WARNING
    yield line(Span(ending_of(report.outcome, seconds_taken(report.outcome, report.seconds)), style))
    yield fact("copied", f"{report.n_copied:,} of {count(report.n_vectors, 'vector')}")
    if report.n_compared_hits:
        yield fact("checked", f"{report.n_same_hits:,} of {report.n_compared_hits:,} sample hits are as near as before")


def export_lines(report: ExportReport, *, paths: PathStyle) -> Iterator[Line]:
    """Yield the content and location of an export."""
    if report.file is None or report.outcome is not Outcome.COMPLETED:
        yield line(Span("stopped; nothing was written", Style.WARNING))
        return
    yield line(Span("done", Style.GOOD), f" in {duration(report.seconds)}")
    holds = f"{count(report.n_chunks, 'chunk')} of {count(report.n_files, 'file')}, {size(report.n_bytes)}"
    yield fact("written", f"{paths.format(report.file)}: {holds}")
    if report.tracked_in and report.format.text:
        yield fact("note", f"it lies in {paths.format(report.tracked_in)}, so the next run may index it")


def doctor_lines(findings: Sequence[Finding]) -> Iterator[Line]:
    """Yield the findings of a check-up, each with its hint."""
    for finding in findings:
        word, style = _VERDICTS[finding.verdict]
        yield fact(word, f"{finding.check}: {finding.message}", style=style)
        if finding.hint:
            yield line(Span(finding.hint, Style.NOTE), indent=FACT_WIDTH)


def config_lines(loaded: LoadedConfig) -> Iterator[Line]:
    """Yield every setting with its value and origin."""
    places = [_where(setting, loaded) for setting in loaded.settings]
    key_width = max(len(setting.key) for setting in loaded.settings) + len("  ")
    place_width = max(map(len, places)) + len("  ")
    for setting, place in zip(loaded.settings, places, strict=True):
        # A value may be a path or a list of any length, so it comes last.
        yield line(Span(place.ljust(place_width), Style.NOTE), _value(setting), indent=key_width, head=setting.key)


def _where(setting: Setting[object], loaded: LoadedConfig) -> str:
    return setting.where if setting.key != "config_file" or loaded.file else f"{setting.where}, does not exist"


def _value(setting: Setting[object]) -> str:
    if setting.value is None:
        return "-"
    if isinstance(setting.value, bool):
        return str(setting.value).lower()
    return ", ".join(setting.value) if isinstance(setting.value, tuple) else str(setting.value)
