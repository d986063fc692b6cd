"""The policy of an index, and the options of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.docstore.runs import Origin
from directory_indexer.fingerprint import Fingerprint
from directory_indexer.indexing.pace import FullPace, Pace
from directory_indexer.lazy import lazily
from directory_indexer.walker.policy import WalkPolicy

with lazily:
    from directory_indexer.parsing.policy import ParsePolicy


class IndexPolicy(NamedTuple):
    """The policy of an index; `batch_files` files are committed at a time.

    `parse` builds the policy of parsing, which only a run with files to read needs. `background` returns the pace
    of embedding that nobody waits for, `alongside` that of a process that also answers queries.
    """

    walk: WalkPolicy
    parse: Callable[[], ParsePolicy]
    fingerprint: Fingerprint
    batch_files: int
    embedding: EmbeddingMode = EmbeddingMode.COMPLETE
    background: Callable[[], Pace] = FullPace
    alongside: Callable[[], Pace] = FullPace


def _no_check() -> None:
    """Do nothing."""


class ServiceChecks(NamedTuple):
    """Checks, before hours of work, that the services of a run are available.

    Each raises a `ProviderError` or a `VectorStoreError` if one is not.
    """

    for_vectors: Callable[[], None] = _no_check
    for_pages: Callable[[], None] = _no_check


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


def options_of(stored: Iterable[str]) -> IndexOptions:
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


_RESUMED_OPTIONS = frozenset({"read_everything", "has_consent", "accepts_mounts", "most_pages"})
"""The options of a resumed run; the others are about how it was started."""
