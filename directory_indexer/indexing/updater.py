"""Execution of plans: removed files are deleted, new and changed ones become searchable by keyword, then by meaning.

Everything is committed in batches, each of which leaves the index consistent, so that a run can be stopped or killed at
any time and the next one continues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.batching import batched
from directory_indexer.core.errors import DirIndexError, OcrCacheError, ProviderError, VectorStoreError
from directory_indexer.core.files import FileFailure, SkipReason
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import lies_in
from directory_indexer.indexing.file_batches import FileBatch, RunCounters
from directory_indexer.indexing.options import IndexParts, Throttle
from directory_indexer.indexing.planner import Plan
from directory_indexer.indexing.report import IndexReport
from directory_indexer.indexing.runs import Run, WriteSlot
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseOutcome, ParseRequest
from directory_indexer.storage.documents.file_writes import FileLocation
from directory_indexer.storage.documents.runs import Phase, RunProgress

with lazily:
    from directory_indexer.indexing.file_batches import TextSharing
    from directory_indexer.indexing.ocr_runner import DocumentToRead, OcrRunner
    from directory_indexer.parsing.parse import parse_all
    from directory_indexer.parsing.policy import ParsePolicy

_BATCH_CHUNKS = 2048
_MAX_BATCH_CHUNKS = 8192
_BATCH_SECONDS = 1.0
"""A batch that fills sooner grows to `_MAX_BATCH_CHUNKS`: with fewer commits, fewer pages are written repeatedly."""

_MIN_WAITING_FOR_STATIC = 256
"""The number of chunks that are embedded in a few seconds."""


class Updater:
    """The phases of one run; the caller holds the write lock.

    A run after one that was killed `is_wary`: a file may crash a parser.
    """

    def __init__(self, parts: IndexParts, run: Run, *, is_wary: bool = False) -> None:
        self.state = RunState(parts, run)
        self.words = KeywordPhase(self.state, is_wary=is_wary)
        self._pages = OcrPhase(self.state, self.words)
        self._meaning = EmbeddingPhase(self.state)

    def complete(self, *, most_pages: int | None, throttle: Throttle | None) -> None:
        """Recognise scanned pages, and embed all chunks in the scope of the run; without a throttle, others embed.

        Before that, static vectors make waiting chunks searchable. It ends when all is searchable by meaning, a service
        fails, or the run must stop.
        """
        if self.state.mode is not EmbeddingMode.OFF:
            self._meaning.add_static_vectors()
        read_pages = partial(self._pages.read, most_pages=most_pages)
        read_pages()
        self._meaning.update(throttle, after_yielding=read_pages)


class RunState:
    """The progress and the report of one run, which its phases share."""

    def __init__(self, parts: IndexParts, run: Run) -> None:
        self.run = run
        self.docstore = parts.docstore
        self.vectorizer = parts.vectorizer()
        self.ocr_runner = parts.ocr_runner
        self.policy = parts.policy()
        self.mode = self.policy.embedding
        self.recipe = self.policy.fingerprint.recipe
        self.report = IndexReport()
        self.progress = RunProgress(Phase.READING)

    def must_stop(self) -> bool:
        """Whether the run should end after the current batch."""
        return self.run.must_stop

    def advance(self, **counts: int) -> None:
        """Add to counters of the progress."""
        sums: dict[str, Any] = {name: getattr(self.progress, name) + count for name, count in counts.items()}
        self.progress = self.progress._replace(**sums)

    def publish(self, **values: Any) -> None:
        """Publish the progress, after setting some of its values."""
        self.progress = self.progress._replace(**values)
        self.run.report(self.progress)

    def add_to_report(self, **more: Any) -> None:
        """Add to the report."""
        self.report = self.report.plus(**more)

    def run_service_step(self, work: Callable[[], None]) -> None:
        """Do work that needs a service or a store of its own; if that fails, its results stay, and the rest waits."""
        try:
            work()
        except (ProviderError, VectorStoreError, OcrCacheError) as error:
            if not self.report.unavailable:
                self.report = self.report._replace(unavailable=describe_error(error))
                self.run.record_failure(self.report.unavailable)

    def n_waiting(self) -> int:
        """Count the chunks without a vector."""
        return self.vectorizer.n_waiting(self.run.scope)

    def fingerprint(self) -> str | None:
        """Return the fingerprint of the index: a run that wrote meanwhile may have changed it."""
        with self.docstore.snapshot() as snapshot:
            return snapshot.meta.get("fingerprint")


class KeywordPhase:
    """Makes files searchable by keyword."""

    def __init__(self, state: RunState, *, is_wary: bool) -> None:
        self._state = state
        self._is_wary = is_wary

    def update(self, plans: Sequence[tuple[int, Plan]]) -> None:
        """Apply plans, each with the id of its directory, until all files are searchable by keyword."""
        for directory_id, plan in plans:
            self._apply_plan_without_reading(directory_id, plan)
        self._read([(directory_id, plan) for directory_id, plan in plans if plan.requests])
        self._state.run.n_removed = self._state.report.n_removed

    def _parse_policy(self) -> ParsePolicy:
        return self._state.policy.parse()._replace(is_wary=self._is_wary)

    def _apply_plan_without_reading(self, directory_id: int, plan: Plan) -> None:
        state = self._state
        state.report = state.report.plus_skipped(plan.skip_counts).plus(
            n_unchanged=plan.n_unchanged,
            n_ignored=len(plan.ignored),
            n_removed=len(plan.removed),
            failures=(*plan.failures, *plan.broken),
        )
        # Settled before any file is written: a later write unsettles its directory.
        if plan.settled or plan.left:
            with state.docstore.transaction() as transaction:
                transaction.directories.unsettle(plan.left)
                transaction.directories.settle(directory_id, plan.settled)
        for gone in batched((*plan.removed, *plan.resolved), state.policy.batch_files):
            with state.docstore.transaction() as transaction:
                n_members = transaction.files.remove(gone)
            state.add_to_report(n_removed=n_members)
        with state.docstore.transaction() as transaction:
            transaction.directories.set_mounts(directory_id, plan.mounts)
            for skipped in plan.skipped:
                transaction.files.put_skipped(FileLocation(directory_id), skipped, recipe=state.recipe)
            for failure in plan.failures:
                if lies_in(failure.path, plan.directory):
                    transaction.files.put_failure(FileLocation(directory_id), failure, recipe=state.recipe)

    def _read(self, plans: Sequence[tuple[int, Plan]]) -> None:
        state = self._state
        requests = [request for _, plan in plans for request in plan.requests]
        directory_ids = {request.source.path: id_ for id_, plan in plans for request in plan.requests}
        counters = RunCounters(plan for _, plan in plans)
        state.progress = RunProgress(
            Phase.READING,
            files_total=len(requests),
            bytes_total=sum(request.source.size for request in requests),
            n_failed=state.report.n_failed,
        )
        if requests:
            state.publish()
        requests = [request for id_, plan in plans for request in self._share_texts(id_, plan, counters)]
        batch = FileBatch(directory_ids, recipe=state.recipe)
        for result in self._parse(requests):
            if isinstance(result, MemberOutcomes):
                state.report = counters.with_members(state.report, result)
                batch.add_members(result)
            else:
                state.report = counters.with_file(state.report, result)
                batch.add(result)
                state.advance(files_done=1, bytes_done=result.source.size if result.source else 0)
            state.progress = state.progress._replace(n_failed=state.report.n_failed)
            if self._is_full(batch):
                self._write_batch(batch)
        self._write_batch(batch)

    def _share_texts(self, directory_id: int, plan: Plan, counters: RunCounters) -> Iterator[ParseRequest]:
        """Insert files that share the text of another directory's file, and yield the rest, which must be parsed."""
        state = self._state
        sharing = TextSharing(state.docstore, self._parse_policy, recipe=state.recipe)
        for shared, rest in sharing.blocks(directory_id, plan, must_stop=state.must_stop):
            for file in shared:
                state.report = counters.with_shared(state.report, file)
            if shared:
                state.advance(files_done=len(shared), bytes_done=sum(file.source.size for file in shared))
                state.publish()
            yield from rest

    def read_again(self, documents: Sequence[DocumentToRead]) -> None:
        """Read files again that were counted already, with the text of their recognised pages."""
        state = self._state
        directory_ids = {document.request.source.path: document.directory_id for document in documents}
        skipped = {document.request.source.path for document in documents if document.was_skipped}
        batch = FileBatch(directory_ids, recipe=state.recipe)
        for result in self._parse([document.request for document in documents]):
            if isinstance(result, MemberOutcomes):
                batch.add_members(result)
                continue
            batch.add(result)
            if isinstance(result, ParsedFile):
                state.add_to_report(n_chunks=len(result.chunks))
                if result.source.path in skipped:
                    state.report = state.report.plus_skipped(Counter({SkipReason.NO_TEXT: -1})).plus(n_added=1)
            elif isinstance(result, FileFailure):
                state.add_to_report(failures=(result,))
        self._write_batch(batch)

    def _parse(self, requests: Sequence[ParseRequest]) -> Iterator[ParseOutcome | MemberOutcomes]:
        if requests:
            yield from parse_all(requests, self._parse_policy(), must_stop=self._state.must_stop)

    def _is_full(self, batch: FileBatch) -> bool:
        most_chunks = _BATCH_CHUNKS if batch.seconds >= _BATCH_SECONDS else _MAX_BATCH_CHUNKS
        return batch.n_files >= self._state.policy.batch_files or batch.n_chunks >= most_chunks

    def _write_batch(self, batch: FileBatch) -> None:
        if batch.n_files:
            with self._state.docstore.transaction() as transaction:
                n_gone = batch.write(transaction)
            self._state.add_to_report(n_removed=n_gone)
        self._state.publish()


class OcrPhase:
    """Recognises scanned pages, and has their documents read again."""

    def __init__(self, state: RunState, words: KeywordPhase) -> None:
        self._state = state
        self._words = words

    def read(self, *, most_pages: int | None) -> None:
        """Recognise scanned pages until none waits, a service fails, or the run must stop.

        Called again, it recognises those added since.
        """
        state = self._state
        with state.docstore.snapshot() as snapshot:
            counts = snapshot.scans.counts(state.run.scope)
        has_failed = counts.n_failed > state.report.n_pages_unreadable
        # Otherwise the OCR modules are not loaded, which takes 30 ms.
        if counts.n_waiting > state.report.n_pages_waiting or has_failed:
            self._read(state.ocr_runner(), most_pages, try_again=has_failed and most_pages != 0)

    def _read(self, ocr_runner: OcrRunner, most_pages: int | None, *, try_again: bool) -> None:
        state, scope = self._state, self._state.run.scope
        if try_again:
            state.run_service_step(ocr_runner.requeue_unreadable_pages)
        counts = ocr_runner.counts(scope)
        n_read_ahead = 0
        if counts.n_waiting and not state.must_stop():
            if state.run.leaves_pages_to_yielded_run:
                state.run.hand_over_scope()  # the run that yielded to this one reads the pages of both, and soon
            else:
                state.run_service_step(partial(self._recognise, ocr_runner, most_pages))
                state.run_service_step(ocr_runner.prune_cache)
            scope = state.run.scope
            counts, n_read_ahead = ocr_runner.counts(scope), ocr_runner.count_pages_read_ahead(scope)
        n_waiting = counts.n_waiting - n_read_ahead
        state.report = state.report._replace(
            n_pages_waiting=n_waiting,
            n_pages_unreadable=counts.n_failed,
            ocr_advice=ocr_runner.reading.advice() if n_waiting else "",
        )

    def _recognise(self, ocr_runner: OcrRunner, most_pages: int | None) -> None:
        """Recognise waiting pages, and let waiting runs write in between."""
        state = self._state
        fingerprint, n_asked = state.fingerprint(), 0
        while fingerprint == state.fingerprint():
            slot = WriteSlot(state.run)
            most = most_pages and max(most_pages - n_asked, 0)
            n_asked += self._recognise_in(slot, ocr_runner, most)
            if not slot.is_over or state.must_stop():
                return
            state.run.yield_lock()

    def _recognise_in(self, slot: WriteSlot, ocr_runner: OcrRunner, most_pages: int | None) -> int:
        """Recognise pages until others want to write; return how many pages were sent to the engine."""
        state = self._state
        n_asked, refusals = 0, Counter(dict(state.report.ocr_refusals))
        for step in ocr_runner.recognise_pages(state.run.scope, most_pages=most_pages, must_stop=slot.must_stop):
            n_asked += step.n_asked
            state.report = state.report._replace(ocr_usage=step.usage)
            if step.refusal:
                refusals[step.refusal] += 1
                state.report = state.report._replace(ocr_refusals=tuple(refusals.most_common()))
            self._words.read_again(step.documents)
            if step.n_pages_total is not None:
                total = state.progress.pages_done + step.n_pages_total
                state.progress = state.progress._replace(phase=Phase.RECOGNISING, pages_total=total)
            state.advance(pages_done=step.n_pages)
            state.add_to_report(n_pages=step.n_read)
            state.publish()
        return n_asked


class EmbeddingPhase:
    """Makes chunks searchable by meaning."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._vectorizer = state.vectorizer

    def add_static_vectors(self) -> None:
        """Compute static vectors of waiting chunks, unless these are so few that the model is as quick."""
        state = self._state
        total = state.n_waiting()
        if total < _MIN_WAITING_FOR_STATIC or state.must_stop():
            return
        state.publish(phase=Phase.COVERING, chunks_total=total)
        for n_chunks in self._vectorizer.static_vectors.add_missing(state.run.scope, must_stop=state.must_stop):
            # Chunks outside the scope that are covered again are not counted.
            state.publish(chunks_done=min(state.progress.chunks_done + n_chunks, total))
        state.progress = state.progress._replace(chunks_done=0, chunks_total=0)

    def update(self, throttle: Throttle | None, *, after_yielding: Callable[[], None]) -> None:
        """Use the vectors that searches computed, and embed the rest if wanted; without a throttle, others do it.

        After yielding, changes by others are completed first.
        """
        state = self._state
        state.run_service_step(self._update_cluster)
        n_waiting = state.n_waiting()
        state.progress = state.progress._replace(phase=Phase.EMBEDDING, chunks_total=n_waiting)
        if n_waiting and state.mode is not EmbeddingMode.OFF and not state.must_stop():
            is_on_demand = state.mode is EmbeddingMode.ON_DEMAND
            if is_on_demand and throttle is not None and (n_texts := self._n_training_texts()):
                self._embed_throttled(throttle, partial(self._retrain_static_vectors, n_texts, throttle))
            state.run_service_step(self._take_vectors_of_searches)
            n_waiting = state.n_waiting()
        if n_waiting and state.mode is EmbeddingMode.COMPLETE and throttle is not None and not state.must_stop():
            if state.run.has_yielded_run:
                state.run.hand_over_scope()  # the run that yielded to this one embeds for both, and soon
            else:
                embed = partial(self._embed_in_turns, throttle, after_yielding)
                state.run_service_step(partial(self._embed_throttled, throttle, embed))
                n_tokens, n_truncated = self._vectorizer.usage
                state.add_to_report(n_tokens=n_tokens, n_truncated=n_truncated)
        self._publish()

    def _n_training_texts(self) -> int:
        return self._vectorizer.static_vectors.n_training_texts(self._state.run.scope)

    def _retrain_static_vectors(self, n_texts: int, throttle: Throttle) -> None:
        """Learn from more texts, unless another run waits."""
        state = self._state
        before, slot = state.progress, WriteSlot(state.run)
        state.publish(chunks_done=0, chunks_total=n_texts)
        steps = self._vectorizer.static_vectors.retrain(n_texts, state.run.scope, must_stop=slot.must_stop)
        for n_embedded in steps:
            state.publish(chunks_done=state.progress.chunks_done + n_embedded)
            while throttle.must_pause() and not slot.must_stop():
                throttle.sleep()
        state.progress = before

    def _publish(self) -> None:
        """Merge vectors into the vector store, and clean up once the whole index has them."""
        state, merger = self._state, self._vectorizer.merger
        vectors = merger.state()
        if vectors.n_waiting == vectors.n_refused:
            self._vectorizer.drop_temporary_vectors()
        vectors = self._vectorizer.spaces.complete_switch(vectors)
        state.publish(phase=Phase.MERGING)
        state.run_service_step(partial(merger.merge_if_enough, vectors))
        state.run_service_step(merger.repair_tags)
        state.run_service_step(self._update_cluster)
        with state.docstore.snapshot() as snapshot:
            n_pending = snapshot.embedding_queue.count_embeddable(state.run.scope)
            are_covered = snapshot.static_vectors.has_any()
        state.add_to_report(n_pending=n_pending)
        state.report = state.report._replace(are_pending_covered=are_covered)

    def _update_cluster(self) -> None:
        self._vectorizer.cluster.update(must_stop=self._state.must_stop)

    def _take_vectors_of_searches(self) -> None:
        n_chunks = self._vectorizer.store_search_vectors(self._state.run.scope)
        self._state.add_to_report(n_reused=n_chunks)
        self._state.advance(chunks_done=n_chunks)

    def _embed_throttled(self, throttle: Throttle, embed: Callable[[], None]) -> None:
        """Embed under a throttle, and publish its notice."""
        run = self._state.run
        notice = run.notice
        throttle.begin()
        try:
            run.notice = throttle.notice or notice
            embed()
        finally:
            throttle.end()
            run.notice = notice

    def _embed_in_turns(self, throttle: Throttle, after_yielding: Callable[[], None]) -> None:
        """Embed, and let waiting runs write between batches; first retrain static vectors."""
        state, run = self._state, self._state.run
        if n_texts := self._n_training_texts():
            self._retrain_static_vectors(n_texts, throttle)
        fingerprint = state.fingerprint()
        while fingerprint == state.fingerprint():
            state.publish()
            slot = WriteSlot(run)
            for step in self._vectorizer.embed_waiting(run.scope, must_stop=slot.must_stop, throttle=throttle):
                run.notice = throttle.notice or run.notice
                state.add_to_report(n_embedded=step.n_embedded, n_reused=step.n_reused, refused=step.refused)
                state.advance(chunks_done=step.n_chunks)
                state.publish()
            if not slot.is_over or run.must_stop:
                return
            run.yield_lock()
            after_yielding()
            total = state.progress.chunks_done + state.n_waiting()
            state.progress = state.progress._replace(phase=Phase.EMBEDDING, chunks_total=total)


def describe_error(error: DirIndexError) -> str:
    """Return an error and its hint in one sentence."""
    return f"{error.message}: {error.hint}" if error.hint else error.message
