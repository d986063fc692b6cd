"""Totals of the whole index in one snapshot, and an identifier of its state."""

from __future__ import annotations

from directory_indexer.docstore.reading import Reading
from directory_indexer.docstore.runs import Runs
from directory_indexer.docstore.summaries import IndexSummary
from directory_indexer.docstore.vector_sets import VectorSets


class Overview(Reading):
    """The totals of one snapshot."""

    def summary(self) -> IndexSummary:
        """Return the totals of the index that an answer is drawn from."""
        return self._once("summary", self._summary)

    def state_name(self) -> str:
        """Return an identifier that changes whenever answers may change."""
        summary, runs = self.summary(), Runs(self._connection, self._known).latest(1)
        generations = VectorSets(self._connection, self._known).generations().values()
        parts = (*generations, summary.n_files, summary.n_chunks, summary.n_embedded, runs[0].id if runs else 0)
        return ".".join(map(str, parts))

    def _summary(self) -> IndexSummary:
        n_chunks = self.n_chunks
        directories = self._connection.execute("SELECT count(*), min(coalesce(completed_at, 0)) FROM directories")
        n_directories, completed_at = directories.fetchone()
        return IndexSummary(
            n_directories=n_directories,
            n_files=self._count("SELECT count(*) FROM files WHERE state = 'indexed'"),
            n_chunks=n_chunks,
            n_embedded=n_chunks - self._count_waiting(),
            is_running=self._count("SELECT count(*) FROM runs WHERE outcome IS NULL") > 0,
            completed_at=completed_at or None,
        )
