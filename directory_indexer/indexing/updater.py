"""Carries out plans: what is gone leaves, what is new or changed becomes searchable by words, then by meaning.

Everything is committed in batches, each of which leaves the index consistent, so that a run can be stopped or killed
anywhere and the next one goes on where it ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from directory_indexer.docstore.runs import Phase, RunProgress
from directory_indexer.docstore.store import DocStore, Transaction
from directory_indexer.errors import DirIndexError, ProviderError, VectorStoreError
from directory_indexer.files import FileFailure, SkippedFile
from directory_indexer.ids import ContentHash
from directory_indexer.indexing.planner import Plan
from directory_indexer.indexing.report import IndexReport
from directory_indexer.indexing.runs import Run
from directory_indexer.lazy import lazily
from directory_indexer.parsing.outcomes import ParsedFile, ParseRequest, UnchangedFile, outcome_path
from directory_indexer.paths import FilePath, lies_in

with lazily:
    from directory_indexer.indexing.vectorizer import Vectorizer
    from directory_indexer.parsing.parse import ParseOutcome, ParsePolicy, parse_all


_BATCH_CHUNKS = 512


class Updater:
    """Carry out the plans of one run; the caller holds the write lock."""

    def __init__(
        self,
        *,
        docstore: DocStore,
        vectorizer: Vectorizer,
        parse_policy: Callable[[], ParsePolicy],
        recipe: int,
        batch_files: int,
        run: Run,
    ) -> None:
        self._docstore = docstore
        self._vectorizer = vectorizer
        self._parse_policy = parse_policy
        self._recipe = recipe
        self._batch_files = batch_files
        self._run = run
        self._progress = RunProgress(Phase.READING)
        self.report = IndexReport()

    def update_words(self, plans: Sequence[tuple[int, Plan]]) -> None:
        """Apply plans, each with the id of its directory, until all files are searchable by words."""
        for directory_id, plan in plans:
            self._apply_walk(directory_id, plan)
        self._read([(directory_id, plan) for directory_id, plan in plans if plan.requests])
        for directory_id, _ in plans:
            if not self._run.must_stop:
                with self._docstore.transaction() as transaction:
                    transaction.directories.complete(directory_id)

    def update_meaning(self) -> None:
        """Embed what waits, until all is searchable by meaning, a service fails, or the run must stop."""
        state = self._vectorizer.state()
        total = state.n_waiting
        self._progress = self._progress._replace(phase=Phase.EMBEDDING, chunks_total=total)
        if total and not self._run.must_stop:
            self._attempt(self._embed)
            n_tokens, n_truncated = self._vectorizer.usage
            self.report = self.report.plus(n_tokens=n_tokens, n_truncated=n_truncated)
            state = self._vectorizer.state()
        state = self._vectorizer.complete_switch(state)
        self._run.report(self._progress._replace(phase=Phase.MERGING))
        self._attempt(partial(self._vectorizer.merge_if_due, state))
        self.report = self.report.plus(n_pending=total - self._progress.chunks_done)

    def _attempt(self, work: Callable[[], None]) -> None:
        """Do what needs a service; if that fails, what was done before it did is kept, and the rest waits."""
        try:
            work()
        except (ProviderError, VectorStoreError) as error:
            self._run.trouble = self.report.unavailable or explained(error)
            self.report = self.report._replace(unavailable=self._run.trouble)

    def _apply_walk(self, directory_id: int, plan: Plan) -> None:
        self.report = self.report.plus_skipped(plan.skip_counts).plus(
            n_unchanged=plan.n_unchanged,
            n_ignored=len(plan.ignored),
            n_removed=len(plan.removed),
            failures=(*plan.failures, *plan.broken),
        )
        # Before anything is written: whatever is written afterwards unsettles the directory that it lies in.
        if plan.settled or plan.left:
            with self._docstore.transaction() as transaction:
                transaction.directories.unsettle(plan.left)
                transaction.directories.settle(directory_id, plan.settled)
        gone = [*plan.removed, *plan.resolved]
        for start in range(0, len(gone), self._batch_files):
            with self._docstore.transaction() as transaction:
                transaction.files.remove(gone[start : start + self._batch_files])
        with self._docstore.transaction() as transaction:
            transaction.directories.set_mounts(directory_id, plan.mounts)
            for skipped in plan.skipped:
                transaction.files.put_skipped(directory_id, skipped, recipe=self._recipe)
            for failure in plan.failures:
                if lies_in(failure.path, plan.directory):
                    transaction.files.put_failure(directory_id, failure, recipe=self._recipe)

    def _read(self, plans: Sequence[tuple[int, Plan]]) -> None:
        requests = [request for _, plan in plans for request in plan.requests]
        directory_ids = {request.source.path: id_ for id_, plan in plans for request in plan.requests}
        gone = Counter(digest for _, plan in plans for digest in plan.removed_hashes)
        changed = frozenset().union(*(plan.changed for _, plan in plans))
        self._progress = RunProgress(
            Phase.READING,
            files_total=len(requests),
            bytes_total=sum(request.source.size for request in requests),
            n_failed=self.report.n_failed,
        )
        batch: list[ParseOutcome] = []
        for outcome in self._parsed(requests):
            batch.append(outcome)
            self._count(outcome, gone, is_known=outcome_path(outcome) in changed)
            if len(batch) >= self._batch_files or _n_chunks(batch) >= _BATCH_CHUNKS:
                self._commit(batch, directory_ids)
                batch = []
        self._commit(batch, directory_ids)

    def _parsed(self, requests: Sequence[ParseRequest]) -> Iterator[ParseOutcome]:
        if requests:
            yield from parse_all(requests, self._parse_policy(), must_stop=lambda: self._run.must_stop)

    def _count(self, outcome: ParseOutcome, gone: Counter[ContentHash], *, is_known: bool) -> None:
        self.report = self._counted(outcome, gone, is_known=is_known)
        self._progress = self._progress._replace(
            files_done=self._progress.files_done + 1,
            bytes_done=self._progress.bytes_done + _n_bytes(outcome),
            n_failed=self.report.n_failed,
        )

    def _counted(self, outcome: ParseOutcome, gone: Counter[ContentHash], *, is_known: bool) -> IndexReport:
        match outcome:
            case UnchangedFile():
                return self.report.plus(n_unchanged=1)
            case SkippedFile():
                return self.report.plus_skipped(Counter([outcome.reason]))
            case FileFailure():
                return self.report.plus(failures=(outcome,))
            case ParsedFile():
                read = self.report.plus(
                    n_chunks=len(outcome.chunks), n_masked=outcome.n_masked, n_bytes=outcome.source.size
                )
                if is_known:
                    return read.plus(n_changed=1)
                if not gone[outcome.hash]:
                    return read.plus(n_added=1)
                gone[outcome.hash] -= 1
                return read.plus(n_moved=1, n_removed=-1)

    def _commit(self, batch: Sequence[ParseOutcome], directory_ids: dict[FilePath, int]) -> None:
        if batch:
            with self._docstore.transaction() as transaction:
                for outcome in batch:
                    self._put(transaction, directory_ids[outcome_path(outcome)], outcome)
        self._run.report(self._progress)

    def _put(self, transaction: Transaction, directory_id: int, outcome: ParseOutcome) -> None:
        match outcome:
            case ParsedFile():
                transaction.files.put(directory_id, outcome, recipe=self._recipe)
            case SkippedFile():
                transaction.files.put_skipped(directory_id, outcome, recipe=self._recipe)
            case FileFailure():
                transaction.files.put_failure(directory_id, outcome, recipe=self._recipe)
            case UnchangedFile():
                transaction.files.renew_stamps([outcome])

    def _embed(self) -> None:
        self._run.report(self._progress)
        for step in self._vectorizer.embed_pending(must_stop=lambda: self._run.must_stop):
            self.report = self.report.plus(n_embedded=step.n_embedded, n_reused=step.n_reused, refused=step.refused)
            self._progress = self._progress._replace(chunks_done=self._progress.chunks_done + step.n_chunks)
            self._run.report(self._progress)


def explained(error: DirIndexError) -> str:
    """Say in one sentence what is wrong and what to do."""
    return f"{error.message}: {error.hint}" if error.hint else error.message


def _n_chunks(batch: Sequence[ParseOutcome]) -> int:
    return sum(len(outcome.chunks) for outcome in batch if isinstance(outcome, ParsedFile))


def _n_bytes(outcome: ParseOutcome) -> int:
    return outcome.source.size if outcome.source else 0
