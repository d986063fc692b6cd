"""Migration of the vectors of an index between stores, without embedding anything again.

The index keeps answering from the old store until the configuration names the new one. An interrupted copy is resumed
if the generation to copy is still the same.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from directory_indexer.config.settings import KEYS
from directory_indexer.core.batching import batched
from directory_indexer.core.errors import (
    GenerationGoneError,
    IndexMismatchError,
    UsageError,
    VectorsLostError,
    VectorStoreError,
)
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lock import write_lock
from directory_indexer.indexing.report import MigrationReport
from directory_indexer.indexing.runs import Run, recorded_run
from directory_indexer.storage.databases.stored_values import parse_integer, parse_list, parse_stored, parse_text
from directory_indexer.storage.documents.runs import Outcome, Phase, RunProgress, RunRequest, Verb
from directory_indexer.storage.documents.store import DocStore, Snapshot
from directory_indexer.storage.vector_stores import VectorStores
from directory_indexer.storage.vectors import VectorHit, VectorScope, VectorStore

_META_KEY = "migration"
_BATCH_CHUNKS = 4096
"""The number of chunks copied at a time, and so at most copied twice after a kill."""

_N_QUERIES = 20
_N_HITS = 10
_SCORE_TOLERANCE = 0.005
"""The embedded engine rounds vectors."""

_MIN_SAME_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class _MigrationPlan:
    """The source and the target of a copy; `generation` of the target has what was copied so far."""

    base: int
    where: str
    generation: int = 0

    def to_json(self) -> str:
        return json.dumps([self.base, self.where, self.generation])


def _parse_migration_plan(stored: object) -> _MigrationPlan:
    base, where, generation = parse_list(stored)
    return _MigrationPlan(parse_integer(base), parse_text(where), parse_integer(generation))


class Migration:
    """A migration of the vectors of an index to another store, which `where` identifies precisely."""

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
        """Copy what the target lacks, compare both, and publish the copy.

        Raises:
            VectorStoreError: a store cannot be reached, or the target returns other results; the next run resumes.
            IndexMismatchError: the vectors are not in the source.
            LockedError: an index run is active.
        """
        started = time.monotonic()
        with write_lock(self._lock_path, wait=False) as lock, self._docstore.snapshot() as snapshot:
            expected = snapshot.vectors.embedded_chunk_ids()
            plan = self._make_migration_plan(snapshot)
            with recorded_run(
                self._docstore, RunRequest(Verb.MIGRATE), lock=lock, listener=listener, stop_reason=stop_reason
            ) as run:
                n_copied, plan = self._copy(snapshot, plan, expected, run)
                n_same, n_compared = (0, 0) if run.must_stop else self._verify(plan, expected)
                if not run.must_stop:
                    with self._docstore.transaction() as transaction:
                        transaction.meta.store_generation(self._target.place, plan.generation)
                        transaction.meta.delete(_META_KEY)
        return MigrationReport(
            outcome=run.outcome,
            seconds=time.monotonic() - started,
            n_vectors=len(expected),
            n_copied=n_copied,
            n_same_hits=n_same,
            n_compared_hits=n_compared,
        )

    def _make_migration_plan(self, snapshot: Snapshot) -> _MigrationPlan:
        fresh = _MigrationPlan(snapshot.vector_sets.generation(self._source.place), self._where)
        mark = snapshot.meta.get(_META_KEY)
        begun = parse_stored("meta.migration", _parse_migration_plan, mark) if mark else fresh
        return begun if (begun.base, begun.where) == (fresh.base, fresh.where) else fresh

    def _copy(
        self, snapshot: Snapshot, plan: _MigrationPlan, expected: set[ChunkId], run: Run
    ) -> tuple[int, _MigrationPlan]:
        plan, present = self._read_copied(plan)
        plan = self._store_plan(plan, plan.generation)
        if gone := present - expected:
            plan = self._store_plan(plan, self._target.merge(plan.generation, deletes=gone, upserts=()))
        missing = sorted(expected - present)
        progress = RunProgress(Phase.COPYING, chunks_done=len(present & expected), chunks_total=len(expected))
        run.report(progress)
        n_copied = 0
        for batch in batched(missing, _BATCH_CHUNKS):
            if run.must_stop:
                break
            vectors = self._source.open_generation(plan.base).vectors(batch)
            points = snapshot.vectors.points(vectors)
            plan = self._store_plan(plan, self._target.merge(plan.generation, deletes=(), upserts=points))
            n_copied += len(points)
            run.report(progress._replace(chunks_done=progress.chunks_done + n_copied))
        return n_copied, plan

    def _read_copied(self, plan: _MigrationPlan) -> tuple[_MigrationPlan, set[ChunkId]]:
        """Return the chunks copied before; if the target has lost them, start over."""
        try:
            self._target.prepare(plan.generation)
            return plan, set(self._target.open_generation(plan.generation).ids())
        except (VectorsLostError, GenerationGoneError):
            self._target.prepare(0)
            return replace(plan, generation=0), set()

    def _store_plan(self, plan: _MigrationPlan, generation: int) -> _MigrationPlan:
        """Store the progress. Until the end the target must not answer, though it may have before."""
        plan = replace(plan, generation=generation)
        with self._docstore.transaction() as transaction:
            transaction.meta.forget_generation(self._target.place)
            transaction.meta.set(_META_KEY, plan.to_json())
        self._target.discard_others(generation)
        return plan

    def _verify(self, plan: _MigrationPlan, expected: set[ChunkId]) -> tuple[int, int]:
        """Compare counts and sample results of both stores; return how many hits are as near, and of how many."""
        n_present = self._target.open_generation(plan.generation).count()
        if n_present != len(expected):
            raise VectorStoreError(
                f"{self._where} has {n_present} vectors in place of {len(expected)}",
                hint="run the same command again; searches still use the previous store",
            )
        n_same = n_compared = 0
        for before, after in self._compare_sample_searches(plan, expected):
            scores = itertools.zip_longest((hit.score for hit in before), (hit.score for hit in after), fillvalue=0.0)
            n_same += sum(was - is_ <= _SCORE_TOLERANCE for was, is_ in scores)
            n_compared += len(before)
        if n_same < _MIN_SAME_SHARE * n_compared:
            raise VectorStoreError(
                f"{self._where} answers otherwise: of {n_compared} hits only {n_same} are as near as before",
                hint="searches still use the previous store; dirindex doctor shows how the server is",
            )
        return n_same, n_compared

    def _compare_sample_searches(
        self, plan: _MigrationPlan, expected: set[ChunkId]
    ) -> Iterator[tuple[list[VectorHit], list[VectorHit]]]:
        samples = sorted(expected)[:: max(len(expected) // _N_QUERIES, 1)][:_N_QUERIES]
        everywhere = VectorScope()
        for query in self._source.open_generation(plan.base).vectors(samples).values():
            before = self._source.open_generation(plan.base).search(query, scope=everywhere, limit=_N_HITS)
            # The source still has vectors deleted since its last merge.
            before = [hit for hit in before if hit.chunk_id in expected]
            yield (
                before,
                self._target.open_generation(plan.generation).search(query, scope=everywhere, limit=len(before) or 1),
            )


def prepare_migration(
    docstore: DocStore, stores: VectorStores, *, to_server: str | None, from_server: str | None, lock_path: Path
) -> Migration:
    """Prepare to copy the vectors to the server at a URL, or from the configured one to the embedded engine.

    Raises:
        UsageError: the URL is invalid, or no server is configured to copy from.
        IndexMismatchError: a switch to another model is in progress.
    """
    url = to_server or from_server
    if not url:
        raise UsageError("storage.qdrant.endpoint names no server to copy from", hint="dirindex config shows it")
    for issue in KEYS["storage.qdrant.endpoint"].type.issues(url):
        raise UsageError(f"--to-server '{url}' {issue.message}")
    with docstore.snapshot() as snapshot:
        vector_set = snapshot.vector_sets.current()
        if snapshot.vector_sets.is_switching:
            raise IndexMismatchError("a switch to another model is in progress", hint="dirindex index completes it")
    embedded, server = stores.embedded(vector_set), stores.on_server(vector_set, url)
    return Migration(
        docstore=docstore,
        source=embedded if to_server else server,
        target=server if to_server else embedded,
        where=f"{url}, collection '{stores.name_of(vector_set)}'" if to_server else str(stores.on_disk.path),
        lock_path=lock_path,
    )
