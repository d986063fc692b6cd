"""Short reports as lines: migrations, exports, check-ups, configuration, collections, keys, usage and facets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from directory_indexer.api.reports import key_facts
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Finding, Verdict
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.documents.statistics import Facets
from directory_indexer.text.formatting import (
    Line,
    PathStyle,
    Span,
    Style,
    count,
    duration,
    line,
    printable,
    single_line,
    size,
)

with lazily:
    from directory_indexer.api.collections import CollectionEntry, DocumentEntry, SentAnswer
    from directory_indexer.api.reports import UsageAnswer
    from directory_indexer.collections.restore import RestoreReport
    from directory_indexer.config import LoadedConfig
    from directory_indexer.config.settings import Setting
    from directory_indexer.core.paths import display
    from directory_indexer.indexing.report import MigrationReport
    from directory_indexer.integrations.exporting.exporter import ExportReport
    from directory_indexer.storage.registry.keys import Key

_VERDICTS = {
    Verdict.OK: ("ok", Style.GOOD),
    Verdict.REPAIRED: ("repaired", Style.GOOD),
    Verdict.WARNING: ("warning", Style.WARNING),
    Verdict.PROBLEM: ("problem", Style.PROBLEM),
}

FEW: Final = 5
"""Items listed without `verbose`."""

FACT_WIDTH: Final = 11
"""Columns reserved for the name of a fact."""

_OUTCOME_NAMES: Final = {
    Outcome.COMPLETED: "done",
    Outcome.INTERRUPTED: "stopped; run it again to go on from here",
    Outcome.PAUSED: "paused; dirindex index --resume goes on from here",
    Outcome.OUT_OF_TIME: "out of time; run it again to go on from here",
    Outcome.FAILED: "failed",
}
"""Outcomes of a run in words, and the command that continues it."""

_FAILED = "failed"

_USAGE_HEADER = f"{'tools':8}{'calls':>9}{'dirindex':>10}{'tokens':>14}{'a call':>10}{'at most':>10}"

_WIDTH = 13


def migration_lines(report: MigrationReport) -> Iterator[Line]:
    """Yield the number of copied passages, and how the results of sample queries compare."""
    style = Style.GOOD if report.outcome is Outcome.COMPLETED else Style.WARNING
    yield line(Span(format_ending(report.outcome, format_seconds_taken(report.outcome, report.seconds)), style))
    yield fact_line("copied", f"{report.n_copied:,} of {count(report.n_vectors, 'passage')}")
    if report.n_compared_hits:
        yield fact_line(
            "checked", f"{report.n_same_hits:,} of {report.n_compared_hits:,} sample hits are as near as before"
        )


def export_lines(report: ExportReport, *, paths: PathStyle) -> Iterator[Line]:
    """Yield the content and location of an export."""
    if report.file is None or report.outcome is not Outcome.COMPLETED:
        yield line(Span("stopped; nothing was written", Style.WARNING))
        return
    yield line(Span("done", Style.GOOD), f" in {duration(report.seconds)}")
    holds = f"{count(report.n_chunks, 'passage')} of {count(report.n_files, 'file')}, {size(report.n_bytes)}"
    yield fact_line("written", f"{paths.format(report.file)}: {holds}")
    if report.tracked_in and report.format.text:
        yield fact_line("note", f"it lies in {paths.format(report.tracked_in)}, so the next run may index it")


def doctor_lines(findings: Sequence[Finding]) -> Iterator[Line]:
    """Yield the findings of a check-up, each with its hint."""
    for finding in findings:
        word, style = _VERDICTS[finding.verdict]
        yield fact_line(word, f"{finding.check}: {finding.message}", style=style)
        if finding.hint:
            yield line(Span(finding.hint, Style.NOTE), indent=FACT_WIDTH)


def config_lines(loaded: LoadedConfig) -> Iterator[Line]:
    """Yield every setting with its value and origin."""
    places = [_origin_of_setting(setting, loaded) for setting in loaded.settings]
    key_width = max(len(setting.key) for setting in loaded.settings) + len("  ")
    place_width = max(map(len, places)) + len("  ")
    for setting, place in zip(loaded.settings, places, strict=True):
        # A value may be a path or a list of any length, so it comes last.
        yield line(
            Span(place.ljust(place_width), Style.NOTE), _format_setting(setting), indent=key_width, head=setting.key
        )


def format_ending(outcome: Outcome, moment: str) -> str:
    """Format the outcome of a run, and when or after how long it ended, followed by the command that continues it."""
    ending, mark, next_step = _OUTCOME_NAMES[outcome].partition("; ")
    return f"{ending} {moment}{mark}{next_step}"


def format_seconds_taken(outcome: Outcome, seconds: float) -> str:
    """Format the duration of a run: "in" if it completed, else "after"."""
    return f"{'in' if outcome is Outcome.COMPLETED else 'after'} {duration(seconds)}"


def fact_line(name: str, *words: Span | str, style: Style = Style.NOTE) -> Line:
    """Format one fact of a report as a line: its name and value."""
    return line(*words, indent=FACT_WIDTH, head=Span(name, style))


def format_counts(kinds: Mapping[str, int], separator: str) -> str:
    """Format counts by kind as a list."""
    return separator.join(f"{n:,} {kind}" for kind, n in kinds.items() if n) or "none"


def with_advice(words: str, advice: str) -> str:
    """Append advice to a text, if there is any."""
    return f"{words}; {advice}" if advice else words


def omission_line(n: int) -> Iterator[Line]:
    """Yield a line with the number of items that were not listed."""
    if n > 0:
        yield line(Span(f"and {n:,} more; --verbose names more of them", Style.NOTE), indent=FACT_WIDTH)


def format_page_counts(pages: Mapping[str, int]) -> str:
    """Format a number of pages by outcome."""
    return f"{count(sum(pages.values()), 'page')}: {format_counts(pages, ', ')}"


def skip_lines(skipped: Iterable[tuple[SkipReason, int]]) -> Iterator[Line]:
    """Yield a line with the number of skipped files by reason."""
    kinds = {str(reason): n for reason, n in skipped}
    if kinds:
        yield fact_line("skipped", format_counts(kinds, ", "))


def failure_lines(failures: Sequence[FileFailure], n_failed: int, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    """Yield the failures, all with `verbose`, and when they are retried."""
    if not n_failed:
        return
    yield fact_line("failed", f"{n_failed:,}, tried again {_retry_time_of_failures(failures)}", style=Style.PROBLEM)
    listed_failures = failures if verbose else failures[:FEW]
    for failure in listed_failures:
        place = Span(paths.format(failure.path), Style.PATH)
        yield line(place, f"  {failure.stage}: {failure.message}", indent=FACT_WIDTH)
    yield from omission_line(n_failed - len(listed_failures))


def format_skip_reason(skipped: SkippedFile) -> str:
    """Format the reason why a file was skipped."""
    return f"{skipped.reason}, {skipped.detail}" if skipped.detail else str(skipped.reason)


def collection_lines(collections: Iterable[CollectionEntry]) -> Iterator[Line]:
    """Yield the collections."""
    collections = list(collections)
    width = max((len(collection.name) for collection in collections), default=0)
    for collection in collections:
        n_documents = sum(collection.documents.values())
        passages = f"{count(collection.chunks, 'passage')}, {collection.embedded:,} searchable by meaning"
        holds = f"{count(n_documents, 'document')}, {count(collection.files, 'file')}, {passages}"
        yield line(Span(collection.name.ljust(width), Style.PATH), f"  {holds}")
        if collection.description:
            yield line(Span(single_line(collection.description), Style.NOTE), indent=2)


def document_lines(documents: Iterable[DocumentEntry]) -> Iterator[Line]:
    """Yield the documents, one per line, in columns with the title last."""
    documents = list(documents)
    ids = max((len(document.doc_id) for document in documents), default=0)
    states = max((len(document.state) for document in documents), default=0)
    width = max((len(f"{document.chunks:,}") for document in documents), default=0)
    for document in documents:
        noun = "passage " if document.chunks == 1 else "passages"
        yield line(
            Span(document.doc_id.ljust(ids), Style.PATH),
            Span(f"  {document.state:{states}}", Style.PROBLEM if document.state == _FAILED else Style.NOTE),
            f"  {size(document.bytes):>8}  {document.chunks:{width},} {noun}",
            f"  {printable(single_line(document.title or document.filename))}",
        )
        if document.message:
            yield line(Span(printable(single_line(document.message)), Style.WARNING), indent=2)


def restore_notes(report: RestoreReport) -> Iterator[str]:
    """Yield notes on what a restore left out, and which directories of this machine the index tracks now."""
    if report.left_out:
        yield "left out, as was asked for: " + "; ".join(map(printable, report.left_out))
    if report.directories:
        tracked = ", ".join(printable(display(path)) for path in report.directories)
        yield f"the next dirindex index reads these directories of this machine: {tracked}"


def document_fact_lines(document: DocumentEntry) -> Iterator[Line]:
    """Yield all facts of a document."""
    for name, value in document._asdict().items():
        if name == "metadata":
            for key, metadata_value in value.items():
                text = ", ".join(map(str, metadata_value)) if isinstance(metadata_value, list) else str(metadata_value)
                yield line(f"{printable(single_line(str(key)))}: {printable(single_line(text))}")
        elif value is not None:
            yield line(f"{name}: {printable(single_line(str(value)))}")


def sent_lines(sent: Iterable[SentAnswer]) -> Iterator[Line]:
    """Yield the state of each document after it was sent."""
    for effect, document in sent:
        masked = f", {count(document.masked, 'secret')} masked" if document.masked else ""
        yield line(
            Span(document.doc_id, Style.PATH),
            f"  {effect}, {document.state}: {printable(single_line(document.filename))}, ",
            f"{count(document.chunks, 'passage')}{masked}",
        )
        if document.message:
            yield line(Span(printable(single_line(document.message)), Style.WARNING), indent=2)


def scope_lines(scopes: Mapping[str, Sequence[FilePath]], *, paths: PathStyle) -> Iterator[Line]:
    """Yield the scopes with their directories."""
    for name, places in scopes.items():
        yield line(Span(name, Style.PATH))
        yield from (line(paths.format(place), indent=2) for place in places)


def key_lines(keys: Sequence[Key]) -> Iterator[Line]:
    """Yield one line per key: its name, right, collections, expiry and last use."""
    facts = [key_facts(key) for key in keys]
    width = max((len(key.name) for key in facts), default=0)
    for key in facts:
        collections = "all collections" if key.collections is None else ", ".join(key.collections)
        until = f"until {key.expires_at}" if key.expires_at else "for ever"
        end = Span(f"expired {key.expires_at}", Style.WARNING) if key.expired else until
        used = f", last used {key.last_used_at}" if key.last_used_at else ", never used"
        yield line(f"{key.name.ljust(width)}  {key.right.ljust(7)}  {collections}  ", end, used)


def usage_lines(usage: UsageAnswer) -> Iterator[Line]:
    """Yield the counts, one line per kind of tool."""
    sessions = ", ".join(f"{n:,} {name}" for name, n in sorted(usage.sessions.items()))
    yield line(f"{count(sum(usage.sessions.values()), 'session')}{f': {sessions}' if sessions else ''}")
    if usage.tools:
        yield line()
        yield line(Span(_USAGE_HEADER, Style.NOTE))
    for use in usage.tools:
        figures = f"{use.tokens:14,}{use.tokens_per_call:10,}{use.most_tokens:10,}"
        yield line(f"{use.kind:8}{use.calls:9,}{use.dirindex:10,}{figures}")


def unreadable_lines(usage: UsageAnswer, *, paths: PathStyle) -> Iterator[Line]:
    """Yield the files that could not be counted."""
    for file in usage.unreadable:
        yield line(Span(paths.format(file_path(file.path)), Style.PATH), f": {file.reason}")


def facet_lines(facets: Facets, *, paths: PathStyle) -> Iterator[Line]:
    """Format the number of files with each value of each facet."""
    n_files, *values = facets
    yield _document_fact_line("files", f"{n_files:,}")
    for name, counted in zip(facets._fields[1:], values, strict=True):
        labels = [
            paths.format(FilePath(value_count.value)) if name == "directories" else value_count.value
            for value_count in counted
        ]
        if labels:
            counts = (f"{text} {value_count.n_files:,}" for text, value_count in zip(labels, counted, strict=True))
            yield _document_fact_line(name, ", ".join(counts))


def _origin_of_setting(setting: Setting[object], loaded: LoadedConfig) -> str:
    return setting.where if setting.key != "config_file" or loaded.file else f"{setting.where}, does not exist"


def _format_setting(setting: Setting[object]) -> str:
    if setting.value is None:
        return "-"
    if isinstance(setting.value, bool):
        return str(setting.value).lower()
    return ", ".join(setting.value) if isinstance(setting.value, tuple) else str(setting.value)


def _retry_time_of_failures(failures: Sequence[FileFailure]) -> str:
    """Return when failures are retried: damaged files, and those that crashed a parser, only after they change."""
    are_to_blame = {failure.hash is not None for failure in failures}
    subject = "it changes" if len(failures) == 1 else "they change"
    moments = (f"when {subject}" if is_to_blame else "by the next run" for is_to_blame in sorted(are_to_blame))
    return ", or ".join(moments)


def _document_fact_line(name: str, text: str) -> Line:
    return line(text, indent=_WIDTH, head=Span(name, Style.NOTE))
