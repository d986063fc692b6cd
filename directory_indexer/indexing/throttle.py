"""Throttling of embedding: full speed, or yielding to queries and other processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from directory_indexer.core.last_query import QueryListener
from directory_indexer.core.machine import battery_percent, lower_priority

_QUERY_GAP_SECONDS = 1.5
"""Queries come in series: an assistant sends the next one within this time."""

_MAX_PAUSE_SECONDS = 10.0
"""The longest pause, after which a batch is embedded; otherwise a busy index would never be complete."""

_SHORT_MAX_PAUSE_SECONDS = 1.0
"""The same for documents that somebody sent and waits for: at most a fifth of the time."""

_BATTERY_SECONDS = 20.0
_REST_SECONDS, _LONG_REST_SECONDS = 0.03, 1.0

_TEXTS_PER_CORE = 8
"""A fifth of a second of embedding: the longest delay of a writer, or of a query that needs the core."""


class Throttle:
    """The policy of when the next batch may be embedded, and how large it is: full speed, as a user is waiting."""

    notice = ""
    """A notice for users; empty if there is none."""

    def begin(self) -> None:
        """Prepare to embed."""

    def pauses(self) -> bool:
        """Whether embedding must pause now."""
        return False

    def rest(self) -> None:
        """Sleep for a moment of a pause."""

    def batch_size(self, usual: int) -> int:
        """Return how many texts are embedded at a time."""
        return usual

    def end(self) -> None:
        """Finish embedding."""


class BackgroundThrottle(Throttle):
    """Embedding at low priority, with pauses while queries are answered or the battery is low.

    The process stays at that priority to its end.
    """

    def __init__(
        self,
        database: Path,
        *,
        min_percent: int,
        max_pause_seconds: float = _MAX_PAUSE_SECONDS,
        battery: Callable[[], int | None] = battery_percent,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.notice = "in the background"
        self._database = database
        self._min_percent = min_percent
        self._max_pause_seconds = max_pause_seconds
        self._battery = battery
        self._clock = clock
        self._level: int | None = None
        self._level_read_at: float | None = None
        self._paused_since: float | None = None
        self._queries: QueryListener | None = None

    def begin(self) -> None:
        """Lower the priority of the process, and listen for queries."""
        lower_priority()
        self._listen_for_queries()

    def pauses(self) -> bool:
        """Whether the battery is low or a query has just arrived; updates the notice."""
        reason = self._notice_of_low_battery() or self._notice_of_recent_query()
        self.notice = f"in the background, paused: {reason}" if reason else "in the background"
        return bool(reason)

    def rest(self) -> None:
        """Sleep, since others may want to write, and longer to save the battery."""
        time.sleep(_REST_SECONDS if self._paused_since is not None else _LONG_REST_SECONDS)

    def batch_size(self, usual: int) -> int:
        """Return a small batch size, since others wait for a batch to end."""
        return min(usual, _TEXTS_PER_CORE * (os.cpu_count() or 1))

    def end(self) -> None:
        """Stop listening for queries."""
        if self._queries is not None:
            self._queries.close()
            self._queries = None

    def _listen_for_queries(self) -> None:
        self._queries = self._queries or QueryListener(self._database)

    def _notice_of_low_battery(self) -> str:
        if not self._min_percent:
            return ""
        now = self._clock()
        if self._level_read_at is None or now - self._level_read_at >= _BATTERY_SECONDS:
            self._level, self._level_read_at = self._battery(), now
        is_low = self._level is not None and self._level < self._min_percent
        return f"on battery at {self._level} %" if is_low else ""

    def _notice_of_recent_query(self) -> str:
        if self._queries is None or self._queries.seconds_since() > _QUERY_GAP_SECONDS:
            self._paused_since = None
            return ""
        now = self._clock()
        self._paused_since = now if self._paused_since is None else self._paused_since
        if now - self._paused_since > self._max_pause_seconds:
            self._paused_since = now
            return ""
        return "questions are answered"


class PoliteThrottle(BackgroundThrottle):
    """Embedding in a process that also answers queries: it keeps its priority, and queries come first."""

    def __init__(self, database: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(database, min_percent=0, max_pause_seconds=_SHORT_MAX_PAUSE_SECONDS, clock=clock)

    def begin(self) -> None:
        """Listen for queries."""
        self._listen_for_queries()
