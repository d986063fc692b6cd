"""Building blocks of reports: named facts, counts by kind, skipped and failed files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from directory_indexer.docstore.runs import Outcome
from directory_indexer.files import FileFailure, SkippedFile, SkipReason
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.quantities import count, duration
from directory_indexer.render.spans import Line, Span, Style, line

FEW: Final = 5
"""Items listed without `verbose`."""

FACT_WIDTH: Final = 11
"""Columns reserved for the name of a fact."""

_ENDINGS: Final = {
    Outcome.COMPLETED: "done",
    Outcome.INTERRUPTED: "stopped; run it again to go on from here",
    Outcome.PAUSED: "paused; dirindex index --resume goes on from here",
    Outcome.OUT_OF_TIME: "out of time; run it again to go on from here",
    Outcome.FAILED: "failed",
}
"""Outcomes of a run in words, and the command that continues it."""


def ending_of(outcome: Outcome, moment: str) -> str:
    """Format the outcome of a run, and when or after how long it ended, followed by the command that continues it."""
    ending, mark, next_step = _ENDINGS[outcome].partition("; ")
    return f"{ending} {moment}{mark}{next_step}"


def seconds_taken(outcome: Outcome, seconds: float) -> str:
    """Format the duration of a run: "in" if it completed, else "after"."""
    return f"{'in' if outcome is Outcome.COMPLETED else 'after'} {duration(seconds)}"


def fact(name: str, *words: Span | str, style: Style = Style.NOTE) -> Line:
    """Format one fact of a report as a line: its name and value."""
    return line(*words, indent=FACT_WIDTH, head=Span(name, style))


def listed(kinds: Mapping[str, int], separator: str) -> str:
    """Format counts by kind as a list."""
    return separator.join(f"{n:,} {kind}" for kind, n in kinds.items() if n) or "none"


def with_advice(words: str, advice: str) -> str:
    """Append advice to a text, if there is any."""
    return f"{words}; {advice}" if advice else words


def left_out(n: int) -> Iterator[Line]:
    """Yield a line with the number of items that were not listed."""
    if n > 0:
        yield line(Span(f"and {n:,} more; --verbose names more of them", Style.NOTE), indent=FACT_WIDTH)


def counted_pages(pages: Mapping[str, int]) -> str:
    """Format a number of pages by outcome."""
    return f"{count(sum(pages.values()), 'page')}: {listed(pages, ', ')}"


def skip_lines(skipped: Iterable[tuple[SkipReason, int]]) -> Iterator[Line]:
    """Yield a line with the number of skipped files by reason."""
    kinds = {str(reason): n for reason, n in skipped}
    if kinds:
        yield fact("skipped", listed(kinds, ", "))


def failure_lines(failures: Sequence[FileFailure], n_failed: int, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    """Yield the failures, all with `verbose`, and when they are retried."""
    if not n_failed:
        return
    yield fact("failed", f"{n_failed:,}, tried again {_when(failures)}", style=Style.PROBLEM)
    listed_failures = failures if verbose else failures[:FEW]
    for failure in listed_failures:
        place = Span(paths.format(failure.path), Style.PATH)
        yield line(place, f"  {failure.stage}: {failure.message}", indent=FACT_WIDTH)
    yield from left_out(n_failed - len(listed_failures))


def _when(failures: Sequence[FileFailure]) -> str:
    """Return when failures are retried: damaged files, and those that crashed a parser, only after they change."""
    are_to_blame = {failure.hash is not None for failure in failures}
    moments = ("when they change" if is_to_blame else "by the next run" for is_to_blame in sorted(are_to_blame))
    return ", or ".join(moments)


def reason_of(skipped: SkippedFile) -> str:
    """Format the reason why a file was skipped."""
    return f"{skipped.reason}, {skipped.detail}" if skipped.detail else str(skipped.reason)
