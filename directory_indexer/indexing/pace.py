"""How a run goes about embedding: as fast as it can, or behind everything else that this machine does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from directory_indexer.power import battery_percent
from directory_indexer.priority import step_back
from directory_indexer.questions import QuestionListener

_QUIET_SECONDS = 1.5
"""Questions come in rows: an assistant asks again before so much time has passed."""

_PATIENCE_SECONDS = 10.0
"""After so long a batch is embedded between two questions, or an index that is always asked would never be complete."""

_SHORT_PATIENCE_SECONDS = 1.0
"""The same where somebody sent what is embedded, and waits for it beside those who ask: a fifth of the time at most."""

_BATTERY_SECONDS = 20.0
_REST_SECONDS, _LONG_REST_SECONDS = 0.03, 1.0

_TEXTS_A_CORE = 8
"""A fifth of a second of embedding: so long waits who wants to write, or a question for the core that it needs."""


class Pace(Protocol):
    """When the next batch may be embedded, and how large it is."""

    notice: str
    """What people should know about it now; empty where there is nothing to know."""

    def begin(self) -> None:
        """Get ready to embed."""

    def pauses(self) -> bool:
        """Tell whether nothing more is to be embedded now."""

    def rest(self) -> None:
        """Let a moment of a pause pass."""

    def batch_size(self, usual: int) -> int:
        """Tell how many texts are embedded at a time."""

    def end(self) -> None:
        """Be done with embedding."""


class FullPace:
    """Embed as fast as it goes: somebody waits for it."""

    notice = ""

    def begin(self) -> None:
        """Need nothing."""

    def pauses(self) -> bool:
        """Never pause."""
        return False

    def rest(self) -> None:
        """Have no pauses."""

    def batch_size(self, usual: int) -> int:
        """Take what the embedder is fastest with."""
        return usual

    def end(self) -> None:
        """Have nothing to undo."""


class BackgroundPace:
    """Embed at a low priority, and pause while questions are answered, or on a battery with less than so much.

    The process that has begun stays at that priority to its end.
    """

    def __init__(
        self,
        database: Path,
        *,
        least_percent: int,
        patience_seconds: float = _PATIENCE_SECONDS,
        battery: Callable[[], int | None] = battery_percent,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.notice = "in the background"
        self._database = database
        self._least_percent = least_percent
        self._patience_seconds = patience_seconds
        self._battery = battery
        self._clock = clock
        self._level: int | None = None
        self._level_read_at: float | None = None
        self._asked_since: float | None = None
        self._questions: QuestionListener | None = None

    def begin(self) -> None:
        """Step behind all other processes, and listen for questions."""
        step_back()
        self._listen()

    def pauses(self) -> bool:
        """Tell whether the battery is low, or a question was asked just now, and note it for people to see."""
        reason = self._low_battery() or self._question()
        self.notice = f"in the background, paused: {reason}" if reason else "in the background"
        return bool(reason)

    def rest(self) -> None:
        """Wait for a moment, for others may want to write, and longer where the battery is to be spared."""
        time.sleep(_REST_SECONDS if self._asked_since is not None else _LONG_REST_SECONDS)

    def batch_size(self, usual: int) -> int:
        """Take small batches, for who waits for this run waits for a batch to end."""
        return min(usual, _TEXTS_A_CORE * (os.cpu_count() or 1))

    def end(self) -> None:
        """Listen no more."""
        if self._questions is not None:
            self._questions.close()
            self._questions = None

    def _listen(self) -> None:
        self._questions = self._questions or QuestionListener(self._database)

    def _low_battery(self) -> str:
        if not self._least_percent:
            return ""
        now = self._clock()
        if self._level_read_at is None or now - self._level_read_at >= _BATTERY_SECONDS:
            self._level, self._level_read_at = self._battery(), now
        is_low = self._level is not None and self._level < self._least_percent
        return f"on battery at {self._level} %" if is_low else ""

    def _question(self) -> str:
        if self._questions is None or self._questions.seconds_since() > _QUIET_SECONDS:
            self._asked_since = None
            return ""
        now = self._clock()
        self._asked_since = now if self._asked_since is None else self._asked_since
        if now - self._asked_since > self._patience_seconds:
            self._asked_since = now
            return ""
        return "questions are answered"


class AlongsidePace(BackgroundPace):
    """Embed in a process that answers questions, too: it keeps its priority, and questions go first."""

    def __init__(self, database: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(database, least_percent=0, patience_seconds=_SHORT_PATIENCE_SECONDS, clock=clock)

    def begin(self) -> None:
        """Listen for questions."""
        self._listen()
