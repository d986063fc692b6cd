"""Reports and estimates of index runs and migrations."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from directory_indexer.core.errors import ExitCode
from directory_indexer.core.files import FileFailure, SkipReason
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.documents.statistics import FileCounts


class WorkEstimate(NamedTuple):
    """The estimated work of a run: the tokens to embed, the embedder, and what changed settings make it rebuild.

    All counts are of the directories that the run would cover.

    `n_pages` wait for OCR, and `pages_cost` is the price of a configured service for them, the only money in here.
    Neither includes the pages of `n_possible_scans`, the PDFs and pictures that are still to be read.
    """

    space_name: str
    n_tokens: int
    redone: tuple[str, ...] = ()
    n_pages: int = 0
    pages_cost: str = ""
    n_possible_scans: int = 0


class IndexReport(NamedTuple):
    """The results of an index run so far. Files seen = added + changed + moved + unchanged + skipped + failed.

    `files` and `skip_reasons` count all known files of the directories that the run covers, with the members of
    containers that did not change, which a run does not see.

    `n_masked` counts the secrets masked in the texts of files that were read.

    `n_pages` are pages recognised in this run; others wait, and `ocr_advice` says for what. `ocr_refusals` are
    reasons of the configured service, with the number of pages. Waiting pages and chunks, and
    `n_pages_unreadable`, are counted in the directories that the run covers. `are_pending_covered` means that static
    vectors find the waiting chunks meanwhile.

    `refused` are chunks without a vector because the provider rejects only them; `unavailable` says
    why chunks wait for a provider that rejects everything.
    """

    outcome: Outcome = Outcome.COMPLETED
    seconds: float = 0.0
    files: FileCounts = FileCounts()
    skip_reasons: tuple[tuple[SkipReason, int], ...] = ()
    n_added: int = 0
    n_changed: int = 0
    n_moved: int = 0
    n_unchanged: int = 0
    n_removed: int = 0
    n_ignored: int = 0
    skipped: tuple[tuple[SkipReason, int], ...] = ()
    failures: tuple[FileFailure, ...] = ()
    n_chunks: int = 0
    n_embedded: int = 0
    n_reused: int = 0
    n_masked: int = 0
    n_pending: int = 0
    are_pending_covered: bool = False
    n_bytes: int = 0
    n_tokens: int = 0
    n_truncated: int = 0
    refused: tuple[FileFailure, ...] = ()
    unavailable: str = ""
    n_pages: int = 0
    n_pages_waiting: int = 0
    n_pages_unreadable: int = 0
    ocr_advice: str = ""
    ocr_usage: str = ""
    ocr_refusals: tuple[tuple[str, int], ...] = ()
    unavailable_roots: tuple[FilePath, ...] = ()

    def plus(self, **more: Any) -> IndexReport:
        """Return a report with sums of counters, and of the lists of failures and refused chunks."""
        return self._replace(**{name: getattr(self, name) + value for name, value in more.items()})

    def plus_skipped(self, counts: Counter[SkipReason]) -> IndexReport:
        """Return a report with more skipped files, by reason."""
        together = Counter(dict(self.skipped)) + counts
        return self._replace(skipped=tuple(together.most_common()))

    @property
    def exit_code(self) -> ExitCode:
        """Return the exit code of a command with this result."""
        if self.outcome in {Outcome.INTERRUPTED, Outcome.PAUSED}:
            return ExitCode.INTERRUPTED
        if self.unavailable_roots or self.unavailable:
            return ExitCode.UNAVAILABLE
        return ExitCode.INCOMPLETE if self.failures or self.refused else ExitCode.DONE

    @property
    def has_changed_nothing(self) -> bool:
        """Whether the run was completed and left the index as it was."""
        n_written = self.n_added + self.n_changed + self.n_moved + self.n_removed + self.n_chunks
        n_made = self.n_embedded + self.n_reused + self.n_pages
        return self.outcome is Outcome.COMPLETED and not (n_written or n_made or self.n_pending)

    @property
    def n_skipped(self) -> int:
        """Count the files that were skipped for a reason."""
        return sum(count for _, count in self.skipped)

    @property
    def n_failed(self) -> int:
        """Count the files and directories that could not be processed."""
        return len(self.failures)

    @property
    def n_seen(self) -> int:
        """Count every file that the walk found and no rule ignores."""
        return self.n_added + self.n_changed + self.n_moved + self.n_unchanged + self.n_skipped + self.n_failed


class MigrationReport(NamedTuple):
    """The result of a migration, with the number of hits of sample queries that were as near as before."""

    outcome: Outcome
    seconds: float
    n_vectors: int
    n_copied: int
    n_same_hits: int
    n_compared_hits: int
