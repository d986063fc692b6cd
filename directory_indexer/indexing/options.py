"""What is indexed and in which way, and how one run behaves."""

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
    """What is indexed and in which way; a batch of `batch_files` is committed at a time.

    `parse` builds the policy of parsing, which only a run that has something to read needs. `background` makes the pace
    of embedding that nobody waits for, `alongside` that of a process which answers questions meanwhile.
    """

    walk: WalkPolicy
    parse: Callable[[], ParsePolicy]
    fingerprint: Fingerprint
    batch_files: int
    embedding: EmbeddingMode = EmbeddingMode.COMPLETE
    background: Callable[[], Pace] = FullPace
    alongside: Callable[[], Pace] = FullPace


def _no_check() -> None:
    """Find nothing missing."""


class ServiceChecks(NamedTuple):
    """What finds out, before hours of work, whether a run has the services that it needs.

    Each raises a `ProviderError` or a `VectorStoreError` where it has not.
    """

    for_vectors: Callable[[], None] = _no_check
    for_pages: Callable[[], None] = _no_check


class Effort(StrEnum):
    """How much a run does for vectors of what waits: all it can, all behind others, or nothing, for others do it."""

    FULL = "full"
    BACKGROUND = "background"
    NONE = "none"


class IndexOptions(NamedTuple):
    """How one run behaves; `has_consent` lets it redo what another model or version made, and fill the disk.

    With `tracked_only` it leaves out what is not tracked, as a directory that was forgotten meanwhile. With `is_exact`
    the paths were resolved before: a link that has taken the place of one since is not followed. With `accepts_mounts`
    other file systems take the place of those that were mounted before. No more than `most_pages` are read by OCR.
    With `unless_paused` it does nothing while a run is paused, for nobody has asked for this one. With `waiting_only`
    no directory is looked at: the run does what earlier ones left undone, in those that are named or everywhere.
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
        """Write down what a run was asked for, so that another one can go on with it."""
        return json.dumps({name: value for name, value in self._asdict().items() if name in _ASKED})


def options_of(written: Iterable[str]) -> IndexOptions:
    """Ask for all that runs were asked for which go on as one; the paths of runs are resolved already."""
    options = [json.loads(text) for text in written]
    limits = [limit for option in options if isinstance(limit := option.get("most_pages"), int)]
    return IndexOptions(
        read_everything=any(option.get("read_everything") for option in options),
        has_consent=any(option.get("has_consent") for option in options),
        accepts_mounts=any(option.get("accepts_mounts") for option in options),
        most_pages=max(limits, default=None) if len(limits) == len(options) else None,
        is_exact=True,
    )


_ASKED = frozenset({"read_everything", "has_consent", "accepts_mounts", "most_pages"})
"""What a run goes on with; the rest is about how it was started."""
