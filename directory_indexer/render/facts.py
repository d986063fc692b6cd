"""What reports are made of: named facts, counts by kind, what was skipped and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from directory_indexer.docstore.runs import Outcome
from directory_indexer.files import FileFailure, SkippedFile, SkipReason
from directory_indexer.render.printable import PathStyle
from directory_indexer.render.quantities import count, duration
from directory_indexer.render.spans import Line, Span, Style, line

FEW: Final = 5
"""How many of anything are named without `verbose`."""

FACT_WIDTH: Final = 11
"""How many columns the name of a fact takes."""

_ENDINGS: Final = {
    Outcome.COMPLETED: "done",
    Outcome.INTERRUPTED: "stopped; run it again to go on from here",
    Outcome.PAUSED: "paused; dirindex index --resume goes on from here",
    Outcome.OUT_OF_TIME: "out of time; run it again to go on from here",
    Outcome.FAILED: "failed",
}
"""How a run ended, in words, and what continues it."""


def ending_of(outcome: Outcome, moment: str) -> str:
    """Say how a run ended, and when or after how long, before what continues it."""
    ending, mark, next_step = _ENDINGS[outcome].partition("; ")
    return f"{ending} {moment}{mark}{next_step}"


def seconds_taken(outcome: Outcome, seconds: float) -> str:
    """Say how long a run took: what is done is done in that time, and anything else ended after it."""
    return f"{'in' if outcome is Outcome.COMPLETED else 'after'} {duration(seconds)}"


def fact(name: str, *words: Span | str, style: Style = Style.NOTE) -> Line:
    """Write one fact of a report: its name and what there is to say."""
    return line(*words, indent=FACT_WIDTH, head=Span(name, style))


def listed(kinds: Mapping[str, int], separator: str) -> str:
    """List what there is of each kind."""
    return separator.join(f"{n:,} {kind}" for kind, n in kinds.items() if n) or "none"


def with_advice(words: str, advice: str) -> str:
    """Add what to do about it, if anything."""
    return f"{words}; {advice}" if advice else words


def left_out(n: int) -> Iterator[Line]:
    """Say that there are more than were shown."""
    if n > 0:
        yield line(Span(f"and {n:,} more; --verbose names more of them", Style.NOTE), indent=FACT_WIDTH)


def counted_pages(pages: Mapping[str, int]) -> str:
    """Count pages by what became of them."""
    return f"{count(sum(pages.values()), 'page')}: {listed(pages, ', ')}"


def skip_lines(skipped: Iterable[tuple[SkipReason, int]]) -> Iterator[Line]:
    """Count skipped files by the reason."""
    kinds = {str(reason): n for reason, n in skipped}
    if kinds:
        yield fact("skipped", listed(kinds, ", "))


def failure_lines(failures: Sequence[FileFailure], n_failed: int, *, paths: PathStyle, verbose: bool) -> Iterator[Line]:
    """Name failures, all with `verbose`, and say when they are tried again."""
    if not n_failed:
        return
    yield fact("failed", f"{n_failed:,}, tried again {_when(failures)}", style=Style.PROBLEM)
    shown = failures if verbose else failures[:FEW]
    for failure in shown:
        place = Span(paths.shown(failure.path), Style.PATH)
        yield line(place, f"  {failure.stage}: {failure.message}", indent=FACT_WIDTH)
    yield from left_out(n_failed - len(shown))


def _when(failures: Sequence[FileFailure]) -> str:
    """Say when a run tries again: what is damaged, or broke a parser, must change before."""
    are_to_blame = {failure.hash is not None for failure in failures}
    moments = ("when they change" if is_to_blame else "by the next run" for is_to_blame in sorted(are_to_blame))
    return ", or ".join(moments)


def reason_of(skipped: SkippedFile) -> str:
    """Say why a file was skipped."""
    return f"{skipped.reason}, {skipped.detail}" if skipped.detail else str(skipped.reason)
