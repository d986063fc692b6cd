"""Progress of a run in words: share done, time left; and plain lines for a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from directory_indexer.storage.documents.runs import Phase, RunProgress
from directory_indexer.text.formatting import count, duration, percent, printable, size

_AVERAGE_SECONDS = 30.0
_SETTLED_SECONDS = 2.0
_MINUTE, _HOUR = 60, 3600
_ROUNDING_STEPS = ((10, _MINUTE), (_MINUTE, 10 * _MINUTE), (10 * _MINUTE, 10 * _HOUR), (_HOUR, math.inf))
"""Steps that the time left is rounded to, each below a time: under load, finer figures jump."""

_HYSTERESIS = 0.75
"""Share of a step by which an estimate has to be off before another one is shown."""

_LINE_SECONDS = 10.0
_LINE_SHARE = 0.1


class WorkDone(NamedTuple):
    """Units done and their total: bytes while reading, chunks while embedding or copying, otherwise files."""

    done: int
    total: int

    @property
    def share(self) -> float:
        """Return the share that is done, 0 while the total is not known."""
        return min(self.done / self.total, 1.0) if self.total else 0.0


class Pace(NamedTuple):
    """Units a second, and about how many seconds are left of the phase; None while unknown."""

    per_second: float | None = None
    seconds_left: int | None = None


def work_of(progress: RunProgress) -> WorkDone:
    """Return the progress of the phase in its own unit."""
    if progress.phase is Phase.READING:
        return WorkDone(progress.bytes_done, progress.bytes_total)
    if progress.phase.is_measured_in_chunks:
        return WorkDone(progress.chunks_done, progress.chunks_total)
    if progress.phase is Phase.RECOGNISING:
        return WorkDone(progress.pages_done, progress.pages_total)
    return WorkDone(progress.files_done, progress.files_total)


class PaceMeter:
    """Measures the pace of a phase as a moving average, so that a slow file shows and a fast start is forgotten.

    The time left is rounded, and keeps its value until the estimate has clearly left it.
    """

    def __init__(self) -> None:
        self._phase: Phase | None = None
        self._began_at = self._at = 0.0
        self._done = 0
        self._seconds = self._units = 0.0
        self._seconds_left: int | None = None

    def observe(self, progress: RunProgress, *, at: float) -> Pace:
        """Record the progress at a time in seconds, and return the pace."""
        work = work_of(progress)
        if progress.phase is not self._phase:
            self._phase = progress.phase
            self._begin(at, work.done)
        elapsed = at - self._at
        kept = math.exp(-elapsed / _AVERAGE_SECONDS)
        self._seconds = self._seconds * kept + elapsed
        self._units = self._units * kept + work.done - self._done
        self._at, self._done = at, work.done
        if at - self._began_at < _SETTLED_SECONDS or self._units <= 0:
            return Pace()
        per_second = self._units / self._seconds
        rest = work.total - work.done
        return Pace(per_second, self._rounded_seconds_left(rest / per_second) if rest > 0 else None)

    def _begin(self, at: float, done: int) -> None:
        self._began_at = self._at = at
        self._done = done
        self._seconds = self._units = 0.0
        self._seconds_left = None

    def _rounded_seconds_left(self, seconds: float) -> int:
        step = next(step for step, limit in _ROUNDING_STEPS if seconds < limit)
        last = self._seconds_left
        if last is None or abs(seconds - last) > step * _HYSTERESIS:
            self._seconds_left = max(round(seconds / step), 1) * step
        return self._seconds_left or step


def progress_headline(progress: RunProgress, pace: Pace) -> str:
    """Format the share done and the time left of a phase."""
    work = work_of(progress)
    is_preparing = progress.phase is Phase.COVERING and not work.done
    parts = ["preparing"] if is_preparing else [percent(work.done, work.total)] if work.total else []
    if pace.seconds_left is not None:
        parts.append(f"about {_format_rounded(pace.seconds_left)} left")
    return ", ".join(parts)


def progress_details(progress: RunProgress, pace: Pace) -> str:
    """Format the amount done, the pace and the failures of a phase."""
    return ", ".join(_details(progress, pace))


class IndexSteps:
    """The three steps of an index run as a user sees them, and the results of those that are completed.

    A run over few passages has no first pass; embedding then makes them searchable by meaning.
    """

    def __init__(self) -> None:
        self.completed: tuple[tuple[str, str], ...] = ()
        self._last = RunProgress(Phase.STARTING)

    def observe(self, progress: RunProgress) -> None:
        """Record the progress of the run."""
        last, self._last = self._last, progress
        if progress.phase is last.phase and not work_of(progress).total:
            self._last = last  # the phase goes on with work that is not counted
        if last.phase in _COMPLETED_STEPS and progress.phase is not last.phase and progress.phase is not Phase.WAITING:
            self.completed = (*self.completed, (_STEP_NAMES[last.phase], _COMPLETED_STEPS[last.phase](last)))

    @property
    def name(self) -> str:
        """The current step."""
        phase = self._last.phase
        names = _STEP_NAMES if _STEP_NAMES[Phase.COVERING] in dict(self.completed) else _STEP_NAMES_WITHOUT_COVERING
        return names.get(phase, phase.description)

    @property
    def hint(self) -> str:
        """Advice on what a user can do during the current step."""
        is_searchable = self._last.phase in {Phase.RECOGNISING, Phase.EMBEDDING}
        return 'Ctrl+C is safe; to search meanwhile, in another terminal: dirindex search "…"' if is_searchable else ""


class ProgressLines:
    """Writes a line about a run now and then; none about a short run."""

    def __init__(self, write: Callable[[str], None], *, clock: Callable[[], float]) -> None:
        self._write = write
        self._clock = clock
        self._meter = PaceMeter()
        self._phase: Phase | None = None
        self._written_at = clock()
        self._written_share = 0.0
        self._notice = ""

    def __call__(self, progress: RunProgress) -> None:
        """Record the progress of the run."""
        if progress.notice != self._notice:
            self._notice = progress.notice
            self._write(progress.notice)
        now, share = self._clock(), work_of(progress).share
        pace = self._meter.observe(progress, at=now)
        begins_to_wait = progress.phase is Phase.WAITING and self._phase is not Phase.WAITING
        if progress.phase is not self._phase:
            self._phase, self._written_share = progress.phase, 0.0
        silent = now - self._written_at
        has_advanced = share - self._written_share >= _LINE_SHARE
        if begins_to_wait or silent >= _LINE_SECONDS or (has_advanced and silent >= _SETTLED_SECONDS):
            self._written_at, self._written_share = now, share
            parts = (progress_headline(progress, pace), progress_details(progress, pace))
            self._write(f"{progress.phase.description}: {', '.join(part for part in parts if part)}")


def _format_rounded(seconds: int) -> str:
    """Format a rounded time without its empty parts: `40 s`, `2 min`, `1 h 10 min`."""
    return f"{seconds} s" if seconds < _MINUTE else duration(seconds).removesuffix(" 0 s").removesuffix(" 0 min")


def _details(progress: RunProgress, pace: Pace) -> Iterator[str]:
    if progress.phase is Phase.WAITING:
        yield printable(progress.waits_for) or "another process is writing to the index"
    elif progress.phase in _COUNTED_NOUNS:
        yield f"{work_of(progress).done:,} of {count(work_of(progress).total, _COUNTED_NOUNS[progress.phase])}"
        if pace.per_second:
            yield f"{pace.per_second:,.0f}/s" if pace.per_second >= 1 else f"{pace.per_second * 60:,.0f}/min"
    else:
        yield from _file_details(progress, pace)
    if progress.n_failed:
        yield f"{progress.n_failed:,} failed"
    if progress.notice:
        yield progress.notice


def _file_details(progress: RunProgress, pace: Pace) -> Iterator[str]:
    total = f" of {progress.files_total:,}" if progress.files_total else ""
    yield f"{progress.files_done:,}{total} files"
    if progress.phase is Phase.READING:
        yield f"{size(progress.bytes_done)} of {size(progress.bytes_total)}"
        if pace.per_second:
            yield f"{size(pace.per_second)}/s"


_STEP_NAMES = {
    Phase.READING: "1/3 reading",
    Phase.COVERING: "2/3 meaning",
    Phase.RECOGNISING: "3/3 scanned pages",
    Phase.EMBEDDING: "3/3 improving",
    Phase.MERGING: "3/3 saving",
}
"""Phases named by what they do for a user, rather than by what they compute."""

_STEP_NAMES_WITHOUT_COVERING = {
    **_STEP_NAMES,
    Phase.RECOGNISING: "2/3 scanned pages",
    Phase.EMBEDDING: _STEP_NAMES[Phase.COVERING],
}

_COMPLETED_STEPS: Mapping[Phase, Callable[[RunProgress], str]] = {
    Phase.READING: lambda _: "done, searchable by words now",
    Phase.COVERING: lambda last: f"{count(last.chunks_total, 'passage')}, searchable by meaning now",
}

_COUNTED_NOUNS = {
    Phase.COVERING: "passage",
    Phase.EMBEDDING: "passage",
    Phase.COPYING: "passage",
    Phase.RECOGNISING: "page",
}
"""Units of the phases that do not count files."""
