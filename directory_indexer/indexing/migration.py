"""Copies the vectors of an index from one store to the other, without embedding anything again.

The index goes on answering from where its vectors were, until the configuration names the other store. An interrupted
copy is gone on with, as long as the vectors that it copies are still the same generation.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from directory_indexer.config.sources import KEYS
from directory_indexer.databases.stored_values import integer, list_in, parse_stored, text
from directory_indexer.docstore.runs import Outcome, Phase, RunProgress, RunRequest, Verb
from directory_indexer.docstore.store import DocStore, Snapshot
from directory_indexer.errors import (
    GenerationGoneError,
    IndexMismatchError,
    UsageError,
    VectorsLostError,
    VectorStoreError,
)
from directory_indexer.ids import ChunkId
from directory_indexer.indexing.report import MigrationReport
from directory_indexer.indexing.runs import Run, recorded_run
from directory_indexer.lock import write_lock
from directory_indexer.vectorstore import VectorHit, VectorScope, VectorStore
from directory_indexer.vectorstores import VectorStores

_MARK = "migration"
_BATCH_CHUNKS = 4096
"""What is copied at a time, and so at most copied twice after a kill."""

_N_QUERIES = 20
_N_HITS = 10
_AS_NEAR = 0.005
"""Scores may differ so much, for the embedded engine rounds vectors."""

_ENOUGH = 0.95


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is copied where, and how far that is: `generation` of the target holds what was copied so far."""

    base: int
    where: str
    generation: int = 0

    def to_json(self) -> str:
        return json.dumps([self.base, self.where, self.generation])


def _plan_in(written: object) -> _Plan:
    base, where, generation = list_in(written)
    return _Plan(integer(base), text(where), integer(generation))


class Migration:
    """Bring the vectors of an index to another store; `where` names that one as exactly as it can be named."""

    def __init__(
        self, *, docstore: DocStore, source: VectorStore, target: VectorStore, where: str, lock_path: Path
    ) -> None:
        self._docstore = docstore
        self._lock_path = lock_path
        self._source = source
        self._target = target
        self._where = where

    def run(
        self, *, listener: Callable[[RunProgress], None], stop_reason: Callable[[], Outcome | None]
    ) -> MigrationReport:
        """Copy what the target lacks, compare both, and let the index answer from either.

        Raises:
            VectorStoreError: a store cannot be reached, or the target answers otherwise; the next run goes on.
            IndexMismatchError: the vectors are not in the source.
            LockedError: an index run is going on.
        """
        started = time.monotonic()
        with write_lock(self._lock_path, wait=False) as lock, self._docstore.snapshot() as snapshot:
            wanted = snapshot.vectors.embedded_chunk_ids()
            plan = self._planned(snapshot)
            with recorded_run(
                self._docstore, RunRequest(Verb.MIGRATE), lock=lock, listener=listener, stop_reason=stop_reason
            ) as run:
                n_copied, plan = self._copy(snapshot, plan, wanted, run)
                n_same, n_compared = (0, 0) if run.must_stop else self._verified(plan, wanted)
                if not run.must_stop:
                    self._name(plan)
        return MigrationReport(
            outcome=run.outcome,
            seconds=time.monotonic() - started,
            n_vectors=len(wanted),
            n_copied=n_copied,
            n_same_hits=n_same,
            n_compared_hits=n_compared,
        )

    def _planned(self, snapshot: Snapshot) -> _Plan:
        fresh = _Plan(snapshot.vector_sets.generation(self._source.place), self._where)
        mark = snapshot.meta.get(_MARK)
        begun = parse_stored("meta.migration", _plan_in, mark) if mark else fresh
        return begun if (begun.base, begun.where) == (fresh.base, fresh.where) else fresh

    def _copy(self, snapshot: Snapshot, plan: _Plan, wanted: set[ChunkId], run: Run) -> tuple[int, _Plan]:
        plan, there = self._found(plan)
        plan = self._marked(plan, plan.generation)
        if gone := there - wanted:
            plan = self._marked(plan, self._target.merge(plan.generation, deletes=gone, upserts=()))
        missing = sorted(wanted - there)
        progress = RunProgress(Phase.COPYING, chunks_done=len(there & wanted), chunks_total=len(wanted))
        run.report(progress)
        n_copied = 0
        for batch in _batches(missing):
            if run.must_stop:
                break
            vectors = self._source.at(plan.base).vectors(batch)
            points = snapshot.vectors.points(vectors)
            plan = self._marked(plan, self._target.merge(plan.generation, deletes=(), upserts=points))
            n_copied += len(points)
            run.report(progress._replace(chunks_done=progress.chunks_done + n_copied))
        return n_copied, plan

    def _found(self, plan: _Plan) -> tuple[_Plan, set[ChunkId]]:
        """Look what was copied before; if the target has lost it, start over."""
        try:
            self._target.prepare(plan.generation)
            return plan, set(self._target.at(plan.generation).ids())
        except (VectorsLostError, GenerationGoneError):
            self._target.prepare(0)
            return replace(plan, generation=0), set()

    def _marked(self, plan: _Plan, generation: int) -> _Plan:
        """Note how far it is. Until the end the target is no place to answer from, though it may have been one."""
        plan = replace(plan, generation=generation)
        with self._docstore.transaction() as transaction:
            transaction.meta.unname_generation(self._target.place)
            transaction.meta.set(_MARK, plan.to_json())
        self._target.discard_others(generation)
        return plan

    def _verified(self, plan: _Plan, wanted: set[ChunkId]) -> tuple[int, int]:
        """Count the vectors and ask both stores the same; give how many hits are as near, and of how many."""
        n_there = self._target.at(plan.generation).count()
        if n_there != len(wanted):
            raise VectorStoreError(
                f"{self._where} has {n_there} vectors in place of {len(wanted)}",
                hint="run the same command again; searches still use the previous store",
            )
        n_same = n_compared = 0
        for before, after in self._answers(plan, wanted):
            scores = itertools.zip_longest((hit.score for hit in before), (hit.score for hit in after), fillvalue=0.0)
            n_same += sum(was - is_ <= _AS_NEAR for was, is_ in scores)
            n_compared += len(before)
        if n_same < _ENOUGH * n_compared:
            raise VectorStoreError(
                f"{self._where} answers otherwise: of {n_compared} hits only {n_same} are as near as before",
                hint="searches still use the previous store; dirindex doctor shows how the server is",
            )
        return n_same, n_compared

    def _answers(self, plan: _Plan, wanted: set[ChunkId]) -> Iterator[tuple[list[VectorHit], list[VectorHit]]]:
        samples = sorted(wanted)[:: max(len(wanted) // _N_QUERIES, 1)][:_N_QUERIES]
        everywhere = VectorScope()
        for query in self._source.at(plan.base).vectors(samples).values():
            before = self._source.at(plan.base).search(query, scope=everywhere, limit=_N_HITS)
            # The source still has what was deleted since its last merge.
            before = [hit for hit in before if hit.chunk_id in wanted]
            yield before, self._target.at(plan.generation).search(query, scope=everywhere, limit=len(before) or 1)

    def _name(self, plan: _Plan) -> None:
        with self._docstore.transaction() as transaction:
            transaction.meta.name_generation(self._target.place, plan.generation)
            transaction.meta.forget(_MARK)


def _batches(ids: Iterable[ChunkId]) -> Iterator[list[ChunkId]]:
    iterator = iter(ids)
    while batch := list(itertools.islice(iterator, _BATCH_CHUNKS)):
        yield batch


def prepare_migration(
    docstore: DocStore, stores: VectorStores, *, to_server: str | None, from_server: str | None, lock_path: Path
) -> Migration:
    """Prepare to copy the vectors to the server at a URL, or from the configured one to the embedded engine.

    Raises:
        UsageError: the URL is none, or no server is configured to copy from.
        IndexMismatchError: vectors of another model are being made.
    """
    url = to_server or from_server
    if not url:
        raise UsageError("storage.qdrant.endpoint names no server to copy from", hint="dirindex config shows it")
    for mistake in KEYS["storage.qdrant.endpoint"].kind.mistakes(url):
        raise UsageError(f"--to-server '{url}' {mistake.words}")
    with docstore.snapshot() as snapshot:
        vector_set = snapshot.vector_sets.current()
        if snapshot.vector_sets.is_switching:
            raise IndexMismatchError("a switch to another model is under way", hint="dirindex index completes it")
    embedded, server = stores.embedded(vector_set), stores.on_server(vector_set, url)
    return Migration(
        docstore=docstore,
        source=embedded if to_server else server,
        target=server if to_server else embedded,
        where=f"{url}, collection '{stores.name_of(vector_set)}'" if to_server else str(stores.on_disk.path),
        lock_path=lock_path,
    )
