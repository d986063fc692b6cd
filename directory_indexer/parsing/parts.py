"""Outcomes of a container's members, grouped into parts that are sent while the container is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from directory_indexer.core.ids import ContentHash
from directory_indexer.core.paths import FilePath
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseOutcome, Resumption
from directory_indexer.parsing.reading import FileContent

_MAX_OUTCOMES = 64
_MAX_CHARACTERS = 1_000_000
_MAX_SECONDS = 0.5


class Parts:
    """The outcomes that were not sent yet.

    After a crash, previous steps are counted but skipped, and each step is a part of its own, so that it is known which
    one causes another crash.
    """

    def __init__(self, content: FileContent, of_content: ContentHash, resumption: Resumption | None) -> None:
        self._content, self._hash = content, of_content
        self._is_careful = resumption is not None
        self._resumption = resumption or Resumption(0)
        self._broken = dict(self._resumption.broken)
        self.n_steps = 0
        self.n_ignored = 0
        self._start()

    def next_step(self) -> tuple[int, str | None]:
        """Return the number of the next step, and the message of the crash that it caused, if any."""
        number = self.n_steps
        self.n_steps += 1
        return number, self._broken.get(number)

    def take(self, number: int, find_out: Callable[[], ParseOutcome]) -> None:
        """Compute and record the outcome of a step, unless it was done before."""
        if number < self._resumption.n_done:
            return
        outcome = find_out()
        self._outcomes.append((number, outcome))
        if isinstance(outcome, ParsedFile):
            self._n_characters += sum(len(chunk.text) for chunk in outcome.chunks)

    def keep(self, paths: Sequence[FilePath]) -> None:
        """Record unchanged members."""
        self._kept += paths

    @property
    def is_full(self) -> bool:
        """Whether it is time to send the part."""
        return (
            self._is_careful
            or len(self._outcomes) >= _MAX_OUTCOMES
            or self._n_characters >= _MAX_CHARACTERS
            or time.monotonic() >= self._ends
        )

    def hand_over(self) -> MemberOutcomes:
        """Return the part and start another one."""
        source, seen_ns = self._content.source, self._content.seen_ns
        n_done = max(self.n_steps, self._resumption.n_done)
        outcomes, kept = tuple(self._outcomes), tuple(self._kept)
        part = MemberOutcomes(source, self._hash, seen_ns, n_done, outcomes, kept, self.n_ignored)
        self._start()
        return part

    def _start(self) -> None:
        self._outcomes: list[tuple[int, ParseOutcome]] = []
        self._kept: list[FilePath] = []
        self.n_ignored = 0
        self._n_characters = 0
        self._ends = time.monotonic() + _MAX_SECONDS
