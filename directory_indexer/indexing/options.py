"""Options and policy of an index run, throttles of its embedding, and rebuilds after a change of settings.

Embedding is throttled to full speed, or yields to queries and other processes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.errors import ConsentNeededError
from directory_indexer.core.fingerprint import Fingerprint
from directory_indexer.core.last_query import QueryListener
from directory_indexer.core.lazy import lazily
from directory_indexer.core.machine import battery_percent, lower_priority
from directory_indexer.formats.table import FORMATS
from directory_indexer.storage.documents.runs import Origin
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.vectors import VectorPlace
from directory_indexer.walk import WalkPolicy

with lazily:
    from directory_indexer.indexing.ocr_runner import OcrRunner
    from directory_indexer.indexing.vectorizer import Vectorizer
    from directory_indexer.parsing.policy import ParsePolicy

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

    def must_pause(self) -> bool:
        """Whether embedding must pause now."""
        return False

    def sleep(self) -> None:
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

    def must_pause(self) -> bool:
        """Whether the battery is low or a query has just arrived; updates the notice."""
        reason = self._notice_of_low_battery() or self._notice_of_recent_query()
        self.notice = f"in the background, paused: {reason}" if reason else "in the background"
        return bool(reason)

    def sleep(self) -> None:
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


_RESUMED_OPTIONS = frozenset({"read_everything", "has_consent", "accepts_mounts", "most_pages"})
"""The options of a resumed run; the others are about how it was started."""


class IndexPolicy(NamedTuple):
    """The policy of an index; `batch_files` files are committed at a time.

    `parse` builds the policy of parsing, which only a run with files to read needs. `background_throttle` is for
    embedding that nobody waits for, `polite_throttle` for a process that also answers queries.
    """

    walk: WalkPolicy
    parse: Callable[[], ParsePolicy]
    fingerprint: Fingerprint
    batch_files: int
    embedding: EmbeddingMode = EmbeddingMode.COMPLETE
    background_throttle: Callable[[], Throttle] = Throttle
    polite_throttle: Callable[[], Throttle] = Throttle


class IndexParts(NamedTuple):
    """The parts of an index that runs use; those behind functions are made when they are first needed."""

    docstore: DocStore
    lock_path: Path
    vectorizer: Callable[[], Vectorizer]
    ocr_runner: Callable[[], OcrRunner]
    policy: Callable[[], IndexPolicy]


class ServiceChecks(NamedTuple):
    """Checks, before hours of work, that the services of a run are available.

    Each raises a `ProviderError` or a `VectorStoreError` if one is not.
    """

    for_vectors: Callable[[], None] = lambda: None
    for_pages: Callable[[], None] = lambda: None


class Effort(StrEnum):
    """The effort of embedding in a run: full speed, low priority, or none, as others do it."""

    FULL = "full"
    BACKGROUND = "background"
    NONE = "none"


class IndexOptions(NamedTuple):
    """The options of a run; `has_consent` lets it rebuild what another model or version made, and fill the disk.

    With `tracked_only` it skips untracked directories, such as one that was forgotten meanwhile. With `is_exact`
    the paths were resolved before: a link that has replaced one since is not followed. With `accepts_mounts`
    other file systems may replace those that were mounted before. At most `most_pages` are read by OCR.
    With `unless_paused` it does nothing while a run is paused, as for automatic runs. With `waiting_only`
    no directory is walked: the run completes the work of earlier ones, in the named directories or everywhere.
    """

    read_everything: bool = False
    has_consent: bool = False
    wait: bool = True
    tracked_only: bool = False
    is_exact: bool = False
    accepts_mounts: bool = False
    most_pages: int | None = None
    waiting_only: bool = False
    effort: Effort = Effort.FULL
    unless_paused: bool = False
    origin: Origin = Origin.TERMINAL

    def to_json(self) -> str:
        """Return JSON of the options that a resumed run needs."""
        return json.dumps({name: value for name, value in self._asdict().items() if name in _RESUMED_OPTIONS})


def merge_stored_options(stored: Iterable[str]) -> IndexOptions:
    """Return the combined options of resumed runs, whose paths are resolved already."""
    options = [json.loads(text) for text in stored]
    limits = [limit for option in options if isinstance(limit := option.get("most_pages"), int)]
    return IndexOptions(
        read_everything=any(option.get("read_everything") for option in options),
        has_consent=any(option.get("has_consent") for option in options),
        accepts_mounts=any(option.get("accepts_mounts") for option in options),
        most_pages=max(limits, default=None) if len(limits) == len(options) else None,
        is_exact=True,
    )


class RebuildPolicy:
    """Decides what a run rebuilds after the settings have changed, and prepares the index for it."""

    def __init__(self, parts: IndexParts) -> None:
        self._docstore = parts.docstore
        self._vectorizer = parts.vectorizer()
        self._policy = parts.policy()

    def apply_settings(
        self, fingerprint: str | None, vector_places: Collection[VectorPlace], *, has_consent: bool
    ) -> None:
        """Adapt an index with this fingerprint, and with vectors in these places, to the current settings.

        Raises:
            ConsentNeededError: much would be rebuilt without consent.
        """
        current = self._policy.fingerprint
        built = Fingerprint.from_json(fingerprint) if fingerprint else current
        differences = current.differences(built)
        is_elsewhere = bool(vector_places) and self._vectorizer.merger.place not in vector_places
        if is_elsewhere:
            differences += ("make every text searchable by meaning again (dirindex migrate copies it instead)",)
        if differences and not has_consent:
            raise ConsentNeededError(
                f"the index was built with other settings or versions; this run would {'; '.join(differences)}",
                hint="to allow it: dirindex index --yes; until then searches use the index as it is",
            )
        if built.embedding != current.embedding and not is_elsewhere:
            self._vectorizer.spaces.switch(built._replace(embedding=current.embedding))
        if fingerprint == current.to_json() and not is_elsewhere:
            return
        with self._docstore.transaction() as transaction:
            if built.analysis != current.analysis:
                transaction.words.rebuild()
            if changed := current.changed_kinds(built):
                transaction.files.mark_outdated(changed, self._suffixes_of_kinds(changed - built.formats.keys()))
            if is_elsewhere:
                transaction.vector_sets.start_over()
            transaction.meta.set("fingerprint", current.to_json())

    def _suffixes_of_kinds(self, kinds: Collection[str]) -> list[str]:
        added = {format_added.kind: format_added.suffixes for format_added in self._policy.parse().added}
        return [suffix for kind in kinds for suffix in added.get(kind) or FORMATS[kind].suffixes.split()]
