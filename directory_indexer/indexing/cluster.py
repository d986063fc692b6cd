"""Synchronisation of the cluster index: changes in SQLite are written there, version by version.

A changed file is deleted and added again: its new passages with the next version, then the manifest with that version,
then the old passages are deleted. So readers always see one version, and the next run completes interrupted writes.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from directory_indexer.docstore.cluster_ledger import ClusterLedger, Published, Standing
from directory_indexer.docstore.store import DocStore, Snapshot
from directory_indexer.errors import VectorStoreError
from directory_indexer.findings import Finding, Verdict
from directory_indexer.indexing.cluster_changes import digest_of
from directory_indexer.indexing.cluster_update import UNDER_WAY, ClusterUpdate, Sources, Vectors
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.relevance.analyzer import ANALYZER_VERSION
from directory_indexer.relevance.sparse import SPARSE_VERSION
from directory_indexer.vectorstore.cluster import (
    ClusterFile,
    Manifest,
    passages_name,
)

with lazily:
    from directory_indexer.embedding_space import EmbeddingSpace
    from directory_indexer.vectorstore.cluster_reader import ClusterReader
    from directory_indexer.vectorstore.cluster_writer import ClusterWriter


_MENDED = "dirindex doctor --repair mends it"


@dataclass(slots=True)
class ClusterIndex:
    """The cluster index of one index; callers of every method but `findings` hold the write lock.

    `documents` is the directory of sent documents, which are excluded: only the registry knows who may read them.
    """

    docstore: DocStore
    reader: ClusterReader
    writer: ClusterWriter
    ledger: ClusterLedger
    vectors: Vectors
    configured: EmbeddingSpace
    documents: FilePath

    def update(self, *, must_stop: Callable[[], bool] = lambda: False, leaves_no_trace: bool = False) -> None:
        """Write all changes since the last update."""
        index_id = self.docstore.index_id()
        with self.docstore.snapshot() as snapshot:
            before = self.reader.manifest()
            self._require_own(before, index_id)
            planned, state = self._manifest(snapshot, index_id, before), snapshot.cluster_rows.state()
            is_in_step = before is not None and self.ledger.standing() == Standing(
                before.passages, before.version, state
            )
            if is_in_step and before is not None and before.passages == planned.passages and not leaves_no_trace:
                if planned != before:
                    self.writer.put_manifest(planned)
                return
            former = before.passages if before is not None and before.passages != planned.passages else None
            begun = self._begin_update(before, planned)
            sources = Sources(self.writer, self.ledger, self.vectors, self.documents)
            last = ClusterUpdate(sources, snapshot, begun, is_filling=former is not None).write(must_stop)
            if last is not None:
                self._end_update(last, state, former, leaves_no_trace=leaves_no_trace)

    def mend(self) -> None:
        """Read the contents of the cluster again, delete invalid points, and write what is missing."""
        manifest = self.reader.manifest()
        self._require_own(manifest, self.docstore.index_id())
        if manifest is not None:
            unreadable = list(self.reader.unreadable(manifest.passages))
            for collection in {collection for collection, _ in unreadable}:
                self.writer.delete_points(
                    collection, [id_ for point_collection, id_ in unreadable if point_collection == collection]
                )
        self.ledger.forget()
        self.update()

    def findings(self) -> Iterator[Finding]:
        """Compare files, words and passages with the index."""
        try:
            yield self._finding()
        except VectorStoreError as error:
            yield Finding("cluster index", Verdict.PROBLEM, error.message, error.hint or "")

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def _finding(self) -> Finding:
        manifest = self.reader.manifest()
        if manifest is None:
            return Finding("cluster index", Verdict.WARNING, f"'{self.reader.name}' is not there yet", "dirindex index")
        self._require_own(manifest, self.docstore.index_id())
        if n_unreadable := sum(1 for _ in self.reader.unreadable(manifest.passages)):
            message = f"{n_unreadable} points of the cluster index are not as dirindex writes them"
            return Finding("cluster index", Verdict.PROBLEM, message, _MENDED)
        there = Counter(self.reader.standing(manifest.passages))
        known = {file.path: file for file in self.reader.files(after=-1) if isinstance(file, ClusterFile)}
        with self.docstore.snapshot() as snapshot:
            files = {file.path: file for file, _ in snapshot.cluster_rows.files(without=self.documents)}
        n_other = sum(known.get(path) != file for path, file in files.items()) + len(known.keys() - files.keys())
        expected = Counter({(file.key, file.revision): file.n_passages for file in known.values() if file.n_passages})
        n_passages = sum((expected - there).values()) + sum((there - expected).values())
        if n_other or n_passages:
            message = f"the cluster index differs from the index in {n_other} files and {n_passages} passages"
            return Finding("cluster index", Verdict.PROBLEM, message, _MENDED)
        message = f"{len(files)} files with {there.total()} passages agree with the index, version {manifest.version}"
        return Finding("cluster index", Verdict.OK, message)

    def _require_own(self, manifest: Manifest | None, index_id: str) -> None:
        if manifest is not None and manifest.index_id != index_id:
            raise VectorStoreError(
                f"the cluster index '{self.reader.name}' belongs to another index, made on {manifest.host}",
                hint="name another one in storage.qdrant.cluster_index",
            )

    def _manifest(self, snapshot: Snapshot, index_id: str, before: Manifest | None) -> Manifest:
        space = snapshot.vector_sets.answering().space or self.configured
        return Manifest(
            index_id=index_id,
            host=platform.node(),
            version=before.version if before else 0,
            kept_from=before.kept_from if before else 0,
            passages=passages_name(
                self.reader.name, space.name, space.dimensions, ANALYZER_VERSION, SPARSE_VERSION, index_id
            ),
            space=space,
            n_chunks=snapshot.chunks.count(),
            n_waiting=snapshot.embedding_queue.count(),
            directories=snapshot.cluster_rows.directories(without=self.documents),
        )

    def _begin_update(self, before: Manifest | None, planned: Manifest) -> Manifest:
        """Read the state of the cluster if it is unknown, and mark an update as started."""
        standing = self.ledger.standing()
        is_known = before is not None and standing is not None and _describes(standing, planned)
        if not is_known or before is None or before.passages != planned.passages:
            self._read_cluster(before, planned)
        elif standing is not None and standing.state == UNDER_WAY:
            self.writer.undo_unpublished(planned.passages, planned.version)
        self.ledger.stand(Standing(planned.passages, planned.version, UNDER_WAY))
        is_same = before is not None and before.passages == planned.passages
        return self._without_gone(planned) if is_same else planned

    def _end_update(self, last: Manifest, state: str, former: str | None, *, leaves_no_trace: bool) -> None:
        if former:
            self.writer.drop_passages(former)
        if leaves_no_trace:
            last = self._without_gone(last)
        self.ledger.stand(Standing(last.passages, last.version, state))

    def _read_cluster(self, manifest: Manifest | None, planned: Manifest) -> None:
        """Read the contents of the cluster into the ledger; passages in another Qdrant collection do not count."""
        self.ledger.forget()
        self.writer.prepare(planned.passages, dimensions=planned.space.dimensions)
        self.writer.undo_unpublished(planned.passages, planned.version if manifest else -1)
        present = Counter(self.reader.standing(planned.passages))
        of_files = Counter[int]()
        for (key, _), n_passages in present.items():
            of_files[key] += n_passages
        files = [file for file in self.reader.files(after=-1) if isinstance(file, ClusterFile)]
        self.writer.delete_files(planned.passages, of_files.keys() - {file.key for file in files})
        known = (_published_file(file, present[file.key, file.revision], of_files[file.key]) for file in files)
        standing = Standing(planned.passages, planned.version, UNDER_WAY)
        self.ledger.note_files(known, (), standing)
        self.ledger.note_words(self.reader.words(after=-1))

    def _without_gone(self, manifest: Manifest) -> Manifest:
        """Drop the records of removed files and words; servers with an older version reload everything."""
        manifest = manifest._replace(kept_from=manifest.version)
        if manifest.version:
            self.writer.put_manifest(manifest)
            self.writer.forget_gone(manifest.version)
        return manifest


def _describes(standing: Standing, manifest: Manifest) -> bool:
    return (standing.passages, standing.version) == (manifest.passages, manifest.version)


def _published_file(file: ClusterFile, n_of_text: int, n_of_file: int) -> Published:
    """Return the ledger entry of a file; if passages are missing or superfluous, its text counts as another one."""
    is_whole = n_of_text == n_of_file == file.n_passages
    return Published(file.path, digest_of(file), file.revision if is_whole else "", 0)
