"""Totals of the whole index and of its tracked directories."""

from typing import NamedTuple

from directory_indexer.files import SkipReason
from directory_indexer.paths import FilePath


class DirectoryStatus(NamedTuple):
    """One tracked directory: the chunks searchable by keyword (`n_chunks`) and by meaning (`n_embedded`).

    The provider refuses the texts of `n_refused` chunks; `n_masked` secrets are masked.
    `seconds_to_embed` estimates the time for the waiting `n_tokens_to_embed`; None if only the provider knows.
    """

    path: FilePath
    is_available: bool
    completed_at: float | None
    n_files: int
    n_bytes: int
    n_chunks: int
    n_embedded: int
    skipped: tuple[tuple[SkipReason, int], ...]
    n_failed: int
    n_refused: int = 0
    n_masked: int = 0
    n_tokens_to_embed: int = 0
    seconds_to_embed: float | None = None


class IndexSummary(NamedTuple):
    """The state of the index behind an answer; `is_running` means that a run is changing it."""

    n_directories: int = 0
    n_files: int = 0
    n_chunks: int = 0
    n_embedded: int = 0
    is_running: bool = False
    completed_at: float | None = None
