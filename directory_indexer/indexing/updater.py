"""Execution of plans: removed files are deleted, new and changed ones become searchable by keyword, then by meaning.

Everything is committed in batches, each of which leaves the index consistent, so that a run can be stopped or killed at
any time and the next one continues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.errors import DirIndexError, PageCacheError, ProviderError, VectorStoreError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, lies_in
from directory_indexer.indexing.file_batches import Batch
from directory_indexer.indexing.planner import Plan
from directory_indexer.indexing.report import IndexReport
from directory_indexer.indexing.runs import Run, WriteTurn
from directory_indexer.indexing.throttle import FullSpeed, Throttle
from directory_indexer.parsing.outcomes import (
    MemberOutcomes,
    ParsedFile,
    ParseOutcome,
    ParseRequest,
    UnchangedFile,
    outcome_path,
)
from directory_indexer.storage.documents.file_writes import FileLocation
from directory_indexer.storage.documents.runs import Phase, RunProgress
from directory_indexer.storage.documents.shared_texts import SharedFile
from directory_indexer.storage.documents.store import DocStore

with lazily:
    from directory_indexer.indexing.file_batches import TextSharing
    from directory_indexer.indexing.ocr_runner import DocumentToRead, OcrRunner
    from directory_indexer.indexing.vectorizer import Vectorizer
    from directory_indexer.parsing.parse import parse_all
    from directory_indexer.parsing.policy import ParsePolicy


_BATCH_CHUNKS = 2048

_FEW_WAITING = 256
"""The number of chunks that are embedded in a few seconds."""


_FULL_PACE = FullSpeed()


class Updater:
    """Executes the plans of one run; the caller holds the write lock."""

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
        """Apply plans, each with the id of its directory, until all files are searchable by keyword."""
        for directory_id, plan in plans:
            self._apply_walk(directory_id, plan)
        self._read([(directory_id, plan) for directory_id, plan in plans if plan.requests])

    def cover(self) -> None:
        """Compute static vectors of waiting chunks, unless these are so few that the model is as quick."""
        total = self._vectorizer.n_waiting(self._run.scope)
        if total < _FEW_WAITING or self._run.must_stop:
            return
        self._progress = self._progress._replace(phase=Phase.COVERING, chunks_total=total)
        self._run.report(self._progress)
        for n_chunks in self._vectorizer.first_pass.cover(self._run.scope, must_stop=lambda: self._run.must_stop):
            # Chunks outside the scope that are covered again are not counted.
            n_done = min(self._progress.chunks_done + n_chunks, total)
            self._progress = self._progress._replace(chunks_done=n_done)
            self._run.report(self._progress)
        self._progress = self._progress._replace(chunks_done=0, chunks_total=0)

    def read_pages(self, recogniser: Callable[[], OcrRunner], *, most_pages: int | None) -> None:
        """Recognise scanned pages until none waits, a service fails, or the run must stop.

        Called again, it recognises those added since.
        """
        with self._docstore.snapshot() as snapshot:
            counts = snapshot.scans.counts(self._run.scope)
        has_failed = counts.n_failed > self.report.n_pages_unreadable
        # Otherwise the OCR modules are not loaded, which takes 30 ms.
        if counts.n_waiting > self.report.n_pages_waiting or has_failed:
            self._read_pages(recogniser(), most_pages, try_again=has_failed and most_pages != 0)

    def update_meaning(
        self, mode: EmbeddingMode, *, after_giving_way: Callable[[], None], pace: Throttle | None = _FULL_PACE
    ) -> None:
        """Use the vectors that searches computed, and embed the rest if wanted; without a pace, others do it.

        It ends when all is searchable by meaning, a service fails, or the run must stop. After giving way, changes
        by others are completed first.
        """
        self._attempt(self._update_cluster)
        n_waiting = self._vectorizer.n_waiting(self._run.scope)
        self._progress = self._progress._replace(phase=Phase.EMBEDDING, chunks_total=n_waiting)
        if n_waiting and mode is not EmbeddingMode.OFF and not self._run.must_stop:
            self._attempt(self._take_over)
            n_waiting = self._vectorizer.n_waiting(self._run.scope)
        if n_waiting and mode is EmbeddingMode.COMPLETE and pace is not None and not self._run.must_stop:
            self._embed_or_hand_over(pace, after_giving_way)
        self._publish()

    def _embed_or_hand_over(self, pace: Throttle, after_giving_way: Callable[[], None]) -> None:
        if self._run.is_guest:
            self._run.hand_over()  # the run that gave way to this one embeds for both, and soon
            return
        self._attempt(partial(self._embed, pace, after_giving_way))
        n_tokens, n_truncated = self._vectorizer.usage
        self.report = self.report.plus(n_tokens=n_tokens, n_truncated=n_truncated)

    def _publish(self) -> None:
        """Merge vectors into the vector store, and clean up once the whole index has them."""
        state = self._vectorizer.merger.state()
        if state.n_waiting == state.n_refused:
            self._vectorizer.drop_temporary_vectors()
        state = self._vectorizer.spaces.complete_switch(state)
        self._run.report(self._progress._replace(phase=Phase.MERGING))
        self._attempt(partial(self._vectorizer.merger.merge_if_worth_it, state))
        self._attempt(self._vectorizer.merger.mend_tags)
        self._attempt(self._update_cluster)
        with self._docstore.snapshot() as snapshot:
            n_pending = snapshot.embedding_queue.count_open(self._run.scope)
        self.report = self.report.plus(n_pending=n_pending)

    def _update_cluster(self) -> None:
        self._vectorizer.cluster.update(must_stop=lambda: self._run.must_stop)

    def _attempt(self, work: Callable[[], None]) -> None:
        """Do work that needs a service or a store of its own; if that fails, its results stay, and the rest waits."""
        try:
            work()
        except (ProviderError, VectorStoreError, PageCacheError) as error:
            if not self.report.unavailable:
                self.report = self.report._replace(unavailable=describe_error(error))
                self._run.fail(self.report.unavailable)

    def _apply_walk(self, directory_id: int, plan: Plan) -> None:
        self.report = self.report.plus_skipped(plan.skip_counts).plus(
            n_unchanged=plan.n_unchanged,
            n_ignored=len(plan.ignored),
            n_removed=len(plan.removed),
            failures=(*plan.failures, *plan.broken),
        )
        # Settled before any file is written: a later write unsettles its directory.
        if plan.settled or plan.left:
            with self._docstore.transaction() as transaction:
                transaction.directories.unsettle(plan.left)
                transaction.directories.settle(directory_id, plan.settled)
        gone = [*plan.removed, *plan.resolved]
        for start in range(0, len(gone), self._batch_files):
            with self._docstore.transaction() as transaction:
                n_members = transaction.files.remove(gone[start : start + self._batch_files])
            self.report = self.report.plus(n_removed=n_members)
        with self._docstore.transaction() as transaction:
            transaction.directories.set_mounts(directory_id, plan.mounts)
            for skipped in plan.skipped:
                transaction.files.put_skipped(FileLocation(directory_id), skipped, recipe=self._recipe)
            for failure in plan.failures:
                if lies_in(failure.path, plan.directory):
                    transaction.files.put_failure(FileLocation(directory_id), failure, recipe=self._recipe)

    def _read(self, plans: Sequence[tuple[int, Plan]]) -> None:
        requests = [request for _, plan in plans for request in plan.requests]
        directory_ids = {request.source.path: id_ for id_, plan in plans for request in plan.requests}
        tally = RunCounters(plan for _, plan in plans)
        self._progress = RunProgress(
            Phase.READING,
            files_total=len(requests),
            bytes_total=sum(request.source.size for request in requests),
            n_failed=self.report.n_failed,
        )
        if requests:
            self._run.report(self._progress)
        requests = [request for id_, plan in plans for request in self._share_texts(id_, plan, tally)]
        batch = Batch(directory_ids, recipe=self._recipe)
        for result in self._parse(requests):
            if isinstance(result, MemberOutcomes):
                self.report = tally.with_members(self.report, result)
                batch.add_members(result)
            else:
                self.report = tally.with_file(self.report, result)
                batch.add(result)
                self._progress = self._progress._replace(
                    files_done=self._progress.files_done + 1, bytes_done=self._progress.bytes_done + _n_bytes(result)
                )
            self._progress = self._progress._replace(n_failed=self.report.n_failed)
            if batch.n_files >= self._batch_files or batch.n_chunks >= _BATCH_CHUNKS:
                self._commit(batch)
        self._commit(batch)

    def _share_texts(self, directory_id: int, plan: Plan, tally: RunCounters) -> Iterator[ParseRequest]:
        """Insert files that share the text of another directory's file, and yield the rest, which must be parsed."""
        sharing = TextSharing(self._docstore, self._parse_policy, recipe=self._recipe)
        for shared, rest in sharing.blocks(directory_id, plan, must_stop=lambda: self._run.must_stop):
            for file in shared:
                self.report = tally.with_shared(self.report, file)
            if shared:
                self._progress = self._progress._replace(
                    files_done=self._progress.files_done + len(shared),
                    bytes_done=self._progress.bytes_done + sum(file.source.size for file in shared),
                )
                self._run.report(self._progress)
            yield from rest

    def _read_pages(self, recogniser: OcrRunner, most_pages: int | None, *, try_again: bool) -> None:
        if try_again:
            self._attempt(recogniser.try_again)
        counts = recogniser.counts(self._run.scope)
        n_read_ahead = 0
        if counts.n_waiting and not self._run.must_stop:
            if self._run.leaves_pages_to_host:
                self._run.hand_over()  # the run that gave way to this one reads the pages of both, and soon
            else:
                self._attempt(partial(self._recognise, recogniser, most_pages))
                self._attempt(recogniser.prune)
            counts, n_read_ahead = recogniser.counts(self._run.scope), recogniser.n_read_ahead(self._run.scope)
        n_waiting = counts.n_waiting - n_read_ahead
        self.report = self.report._replace(
            n_pages_waiting=n_waiting,
            n_pages_unreadable=counts.n_failed,
            ocr_advice=recogniser.reading.advice() if n_waiting else "",
        )

    def _recognise(self, recogniser: OcrRunner, most_pages: int | None) -> None:
        """Recognise waiting pages, and let waiting runs write in between."""
        fingerprint, n_asked = self._fingerprint(), 0
        while fingerprint == self._fingerprint():
            turn = WriteTurn(self._run)
            most = most_pages and max(most_pages - n_asked, 0)
            n_asked += self._recognise_in(turn, recogniser, most)
            if not turn.is_over or self._run.must_stop:
                return
            self._run.give_way()

    def _recognise_in(self, turn: WriteTurn, recogniser: OcrRunner, most_pages: int | None) -> int:
        """Recognise pages until others want to write; return how many pages were sent to the engine."""
        n_asked, refusals = 0, Counter(dict(self.report.ocr_refusals))
        for step in recogniser.recognise_pages(self._run.scope, most_pages=most_pages, must_stop=turn.must_stop):
            n_asked += step.n_asked
            self.report = self.report._replace(ocr_usage=step.usage)
            if step.refusal:
                refusals[step.refusal] += 1
                self.report = self.report._replace(ocr_refusals=tuple(refusals.most_common()))
            self._read_again(step.documents)
            if step.n_pages_total is not None:
                total = self._progress.pages_done + step.n_pages_total
                self._progress = self._progress._replace(phase=Phase.RECOGNISING, pages_total=total)
            self._progress = self._progress._replace(pages_done=self._progress.pages_done + step.n_pages)
            self.report = self.report.plus(n_pages=step.n_read)
            self._run.report(self._progress)
        return n_asked

    def _read_again(self, documents: Sequence[DocumentToRead]) -> None:
        """Read files again that were counted already, with the text of their recognised pages."""
        directory_ids = {document.request.source.path: document.directory_id for document in documents}
        skipped = {document.request.source.path for document in documents if document.was_skipped}
        batch = Batch(directory_ids, recipe=self._recipe)
        for result in self._parse([document.request for document in documents]):
            if isinstance(result, MemberOutcomes):
                batch.add_members(result)
                continue
            batch.add(result)
            if isinstance(result, ParsedFile):
                self.report = self.report.plus(n_chunks=len(result.chunks))
            if isinstance(result, ParsedFile) and result.source.path in skipped:
                self.report = self.report.plus_skipped(Counter({SkipReason.NO_TEXT: -1})).plus(n_added=1)
            elif isinstance(result, FileFailure):
                self.report = self.report.plus(failures=(result,))
        self._commit(batch)

    def _parse(self, requests: Sequence[ParseRequest]) -> Iterator[ParseOutcome | MemberOutcomes]:
        if requests:
            yield from parse_all(requests, self._parse_policy(), must_stop=lambda: self._run.must_stop)

    def _commit(self, batch: Batch) -> None:
        if batch.n_files:
            with self._docstore.transaction() as transaction:
                n_gone = batch.write(transaction)
            self.report = self.report.plus(n_removed=n_gone)
        self._run.report(self._progress)

    def _take_over(self) -> None:
        n_chunks = self._vectorizer.take_over(self._run.scope)
        self.report = self.report.plus(n_reused=n_chunks)
        self._progress = self._progress._replace(chunks_done=self._progress.chunks_done + n_chunks)

    def _embed(self, pace: Throttle, after_giving_way: Callable[[], None]) -> None:
        """Embed waiting chunks, and publish the notice of the pace."""
        notice = self._run.notice
        pace.begin()
        try:
            self._run.notice = pace.notice or notice
            self._embed_in_turns(pace, after_giving_way)
        finally:
            pace.end()
            self._run.notice = notice

    def _embed_in_turns(self, pace: Throttle, after_giving_way: Callable[[], None]) -> None:
        """Embed, and let waiting runs write between batches."""
        fingerprint = self._fingerprint()
        while fingerprint == self._fingerprint():
            self._run.report(self._progress)
            turn = WriteTurn(self._run)
            for step in self._vectorizer.embed_pending(self._run.scope, must_stop=turn.must_stop, pace=pace):
                self._run.notice = pace.notice or self._run.notice
                self.report = self.report.plus(n_embedded=step.n_embedded, n_reused=step.n_reused, refused=step.refused)
                self._progress = self._progress._replace(chunks_done=self._progress.chunks_done + step.n_chunks)
                self._run.report(self._progress)
            if not turn.is_over or self._run.must_stop:
                return
            self._run.give_way()
            after_giving_way()
            total = self._progress.chunks_done + self._vectorizer.n_waiting(self._run.scope)
            self._progress = self._progress._replace(phase=Phase.EMBEDDING, chunks_total=total)

    def _fingerprint(self) -> str | None:
        """Return the fingerprint of the index: a run that wrote meanwhile may have changed it."""
        with self._docstore.snapshot() as snapshot:
            return snapshot.meta.get("fingerprint")


def describe_error(error: DirIndexError) -> str:
    """Return an error and its hint in one sentence."""
    return f"{error.message}: {error.hint}" if error.hint else error.message


def _n_bytes(outcome: ParseOutcome) -> int:
    return outcome.source.size if outcome.source else 0


class RunCounters:
    """Counts new, changed and moved files, which it distinguishes by the plans of a run."""

    def __init__(self, plans: Iterable[Plan]) -> None:
        plans = list(plans)
        self._known = frozenset().union(*(plan.changed for plan in plans))
        self._known_members = {
            request.source.path: frozenset(path for path, _ in request.known_members)
            for plan in plans
            for request in plan.requests
            if request.known_members
        }
        self._gone = Counter(digest for plan in plans for digest in plan.removed_hashes)

    def with_file(self, report: IndexReport, outcome: ParseOutcome) -> IndexReport:
        """Return the report with a file counted."""
        if not isinstance(outcome, ParsedFile):
            return _with_unread(report, outcome)
        return self._with_text(_with_read(report, outcome), outcome_path(outcome), outcome.hash)

    def with_shared(self, report: IndexReport, shared: SharedFile) -> IndexReport:
        """Return the report with a file counted that has the text of another one."""
        report = report.plus(n_chunks=shared.n_chunks, n_masked=shared.n_masked, n_bytes=shared.source.size)
        return self._with_text(report, shared.source.path, shared.hash)

    def with_members(self, report: IndexReport, part: MemberOutcomes) -> IndexReport:
        """Return the report with members of a container counted, regardless of their former containers."""
        known = self._known_members.get(part.source.path, frozenset())
        read = [outcome for _, outcome in part.outcomes if isinstance(outcome, ParsedFile)]
        n_known = sum(parsed.source.path in known for parsed in read)
        report = report.plus(
            n_unchanged=len(part.kept),
            n_ignored=part.n_ignored,
            n_chunks=sum(len(parsed.chunks) for parsed in read),
            n_masked=sum(parsed.n_masked for parsed in read),
            n_bytes=sum(parsed.source.size for parsed in read),
            n_changed=n_known,
            n_added=len(read) - n_known,
        )
        for _, outcome in part.outcomes:
            if not isinstance(outcome, ParsedFile):
                report = _with_unread(report, outcome)
        return report

    def _with_text(self, report: IndexReport, path: FilePath, digest: ContentHash) -> IndexReport:
        if path in self._known:
            return report.plus(n_changed=1)
        if not self._gone[digest]:
            return report.plus(n_added=1)
        self._gone[digest] -= 1
        return report.plus(n_moved=1, n_removed=-1)


def _with_read(report: IndexReport, parsed: ParsedFile) -> IndexReport:
    return report.plus(n_chunks=len(parsed.chunks), n_masked=parsed.n_masked, n_bytes=parsed.source.size)


def _with_unread(report: IndexReport, outcome: UnchangedFile | SkippedFile | FileFailure) -> IndexReport:
    match outcome:
        case SkippedFile():
            return report.plus_skipped(Counter([outcome.reason]))
        case FileFailure():
            return report.plus(failures=(outcome,))
    return report.plus(n_unchanged=1)
