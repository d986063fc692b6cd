"""What is indexed and in which way, and how one run behaves."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.fingerprint import Fingerprint
from directory_indexer.indexing.pace import FullPace, Pace
from directory_indexer.lazy import lazily
from directory_indexer.walker.policy import WalkPolicy

with lazily:
    from directory_indexer.parsing.policy import ParsePolicy


class IndexPolicy(NamedTuple):
    """What is indexed and in which way; a batch of `batch_files` is committed at a time.

    `parse` builds the policy of parsing, which only a run that has something to read needs. `background` makes the pace
    of embedding that nobody waits for.
    """

    walk: WalkPolicy
    parse: Callable[[], ParsePolicy]
    fingerprint: Fingerprint
    batch_files: int
    embedding: EmbeddingMode = EmbeddingMode.COMPLETE
    background: Callable[[], Pace] = FullPace


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
    other file systems take the place of those that were mounted before. No more than `most_pages` are read by OCR. With
    `waiting_only` no directory is looked at: the run does what earlier ones left undone.
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
