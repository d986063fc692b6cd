"""Synchronisation of the cluster index with SQLite: differences are written there, version by version.

A changed file is deleted and added again: its new passages with the next version, then the manifest with that version,
then the old passages are deleted. So readers always see one version, and the next run completes interrupted writes.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from directory_indexer.core.batching import batched
from directory_indexer.core.errors import VectorStoreError
from directory_indexer.core.ids import ContentHash, content_hash, new_chunk_id
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Finding, Verdict
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.analyzer import ANALYZER_VERSION
from directory_indexer.ranking.sparse import SPARSE_VERSION, PassageFields, passage_weights, passage_words
from directory_indexer.storage.cluster import ClusterCopy
from directory_indexer.storage.cluster.records import (
    ClusterFile,
    ClusterPassage,
    Manifest,
    NewPassage,
    WordCount,
    passages_collection_name,
)
from directory_indexer.storage.cluster.writer import ClusterLedger, ClusterRows, LedgerState, PublishedFile
from directory_indexer.storage.documents.store import DocStore, Snapshot

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.core.fingerprint import EmbeddingSpace
    from directory_indexer.core.ids import ChunkId
    from directory_indexer.storage.cluster.reader import ClusterReader
    from directory_indexer.storage.cluster.writer import ClusterWriter

Vectors = Callable[[Snapshot, "Sequence[ChunkId]"], "dict[ChunkId, NDArray[np.float32]]"]
"""Returns the vectors of those chunks that have one."""

Key = TypeVar("Key", bound=str)
Left = TypeVar("Left")
Right = TypeVar("Right")

UPDATING: Final = ""
"""The state of a ledger while the cluster index is being written."""

_REPAIR_HINT = "dirindex doctor --repair repairs it"

_BATCH_PASSAGES: Final = 2000
_BATCH_FILES: Final = 1000
_BATCH_WORDS: Final = 5000


class ClusterUpdate:
    """A single update, from the first word to the last passage."""

    def __init__(self, index: ClusterIndex, snapshot: Snapshot, manifest: Manifest, *, is_filling: bool) -> None:
        self._index = index
        self._writer = index.writer
        self._ledger = index.ledger
        self._snapshot = snapshot
        self._rows = snapshot.queries(ClusterRows)
        self._manifest = manifest
        self._is_filling = is_filling
        """Whether another Qdrant collection answers until this one is complete, as after a change of the model."""

    def write(self, must_stop: Callable[[], bool]) -> Manifest | None:
        """Write all changes, and return the last manifest; None if it was stopped before the end."""
        first = self._manifest.version
        has_new_words = self._write_words()
        for batch in batch_changes(self._file_changes()):
            if must_stop():
                return None
            self._write_files(batch)
        if (has_new_words or self._is_filling) and self._manifest.version == first:
            self._manifest = self._manifest._replace(version=first + 1)
        self._writer.put_manifest(self._manifest)
        return self._manifest

    def _write_words(self) -> bool:
        has_any = False
        changed = changed_words(self._rows.words(), self._ledger.words())
        for batch in batched(changed, _BATCH_WORDS):
            self._writer.put_words(batch, version=self._manifest.version + 1)
            self._ledger.record_words(batch)
            has_any = True
        return has_any

    def _file_changes(self) -> Iterator[FileChange]:
        rows = self._rows.files(without=self._index.documents)
        changes = compare_files(rows, self._ledger.files())
        return (
            change
            for change in changes
            if change.has_new_text or change.has_new_vectors or change.is_new_row or change.is_gone
        )

    def _write_files(self, batch: Sequence[FileChange]) -> None:
        version, passages = self._manifest.version + 1, self._manifest.passages
        new = {change.path: self._passages(change.file) for change in batch if change.file and change.has_new_text}
        embedded = {
            change.path: self._passages(change.file) for change in batch if change.file and change.has_new_vectors
        }
        gone = [change.path for change in batch if change.is_gone]
        replaced = [
            change.path for change in batch if change.known is not None and (change.has_new_text or change.is_gone)
        ]
        self._writer.put_passages(passages, chain.from_iterable(new.values()), since=version)
        self._writer.add_vectors(passages, chain.from_iterable(embedded.values()))
        self._writer.put_files(
            (change.file for change in batch if change.file and change.is_new_row), gone, version=version
        )
        if not self._is_filling:
            self._writer.expire_passages(passages, replaced, before=version)
            self._manifest = self._manifest._replace(version=version)
            self._writer.put_manifest(self._manifest)
            self._writer.delete_expired_passages(passages, version)
        put = [
            _ledger_entry(change, new.get(change.path) or embedded.get(change.path)) for change in batch if change.file
        ]
        self._ledger.record_files(put, gone, LedgerState(passages, self._manifest.version, UPDATING))

    def _passages(self, file: ClusterFile) -> list[NewPassage]:
        chunks = self._snapshot.chunks.of_file(file.path)
        vectors = self._index.vectors(self._snapshot, [chunk.chunk_id for chunk in chunks])
        below = file.path[len(file.directory) :].lstrip(os.sep)
        new = []
        for chunk in chunks:
            fields = PassageFields(chunk.chunk.text, chunk.chunk.heading, file.facts.title, below)
            id_ = new_chunk_id(file.path, ContentHash(bytes.fromhex(file.hash)), chunk.chunk.ordinal)
            vector = vectors.get(chunk.chunk_id)
            new.append(
                NewPassage(
                    ClusterPassage(id_, file.path, file.facts, chunk.chunk),
                    file.revision,
                    passage_weights(fields, language=file.facts.language),
                    passage_words(fields),
                    None if vector is None else vector.tolist(),
                )
            )
        return new


@dataclass(slots=True)
class ClusterIndex(ClusterCopy):
    """The cluster index of one index; callers of every method but `findings` hold the write lock.

    `documents` is the directory of sent documents, which are excluded: only the registry knows who may read them.
    """

    is_kept = True

    docstore: DocStore
    reader: ClusterReader
    writer: ClusterWriter
    ledger: ClusterLedger
    vectors: Vectors
    configured: EmbeddingSpace
    documents: FilePath

    def update(self, *, must_stop: Callable[[], bool] = lambda: False, purges_removed: bool = False) -> None:
        """Write all changes since the last update."""
        index_id = self.docstore.index_id()
        with self.docstore.snapshot() as snapshot:
            before = self.reader.manifest()
            self._require_own(before, index_id)
            planned, state = self._manifest(snapshot, index_id, before), snapshot.queries(ClusterRows).state()
            is_current = before is not None and self.ledger.state() == LedgerState(
                before.passages, before.version, state
            )
            if is_current and before is not None and before.passages == planned.passages and not purges_removed:
                if planned != before:
                    self.writer.put_manifest(planned)
                return
            former = before.passages if before is not None and before.passages != planned.passages else None
            started = self._begin_update(before, planned)
            last = ClusterUpdate(self, snapshot, started, is_filling=former is not None).write(must_stop)
            if last is not None:
                self._end_update(last, state, former, purges_removed=purges_removed)

    def repair(self) -> None:
        """Read the contents of the cluster again, delete invalid points, and write what is missing."""
        manifest = self.reader.manifest()
        self._require_own(manifest, self.docstore.index_id())
        if manifest is not None:
            unreadable = list(self.reader.unreadable(manifest.passages))
            for collection in {collection for collection, _ in unreadable}:
                self.writer.delete_points(
                    collection, [id_ for point_collection, id_ in unreadable if point_collection == collection]
                )
        self.ledger.clear()
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
            return Finding(
                "cluster index", Verdict.WARNING, f"'{self.reader.name}' does not exist yet", "dirindex index"
            )
        self._require_own(manifest, self.docstore.index_id())
        if n_unreadable := sum(1 for _ in self.reader.unreadable(manifest.passages)):
            message = f"{n_unreadable} points of the cluster index are not as dirindex writes them"
            return Finding("cluster index", Verdict.PROBLEM, message, _REPAIR_HINT)
        present = Counter(self.reader.passage_revisions(manifest.passages))
        known = {file.path: file for file in self.reader.files(after=-1) if isinstance(file, ClusterFile)}
        with self.docstore.snapshot() as snapshot:
            files = {file.path: file for file, _ in snapshot.queries(ClusterRows).files(without=self.documents)}
        n_other = sum(known.get(path) != file for path, file in files.items()) + len(known.keys() - files.keys())
        expected = Counter({(file.key, file.revision): file.n_passages for file in known.values() if file.n_passages})
        n_passages = sum((expected - present).values()) + sum((present - expected).values())
        if n_other or n_passages:
            message = f"the cluster index differs from the index in {n_other} files and {n_passages} passages"
            return Finding("cluster index", Verdict.PROBLEM, message, _REPAIR_HINT)
        message = f"{len(files)} files with {present.total()} passages agree with the index, version {manifest.version}"
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
            passages=passages_collection_name(
                self.reader.name, space.name, space.dimensions, ANALYZER_VERSION, SPARSE_VERSION, index_id
            ),
            space=space,
            n_chunks=snapshot.chunks.count(),
            n_waiting=snapshot.embedding_queue.count(),
            directories=snapshot.queries(ClusterRows).directories(without=self.documents),
        )

    def _begin_update(self, before: Manifest | None, planned: Manifest) -> Manifest:
        """Read the state of the cluster if it is unknown, and mark an update as started."""
        recorded = self.ledger.state()
        is_known = (
            before is not None
            and recorded is not None
            and (recorded.passages, recorded.version) == (planned.passages, planned.version)
        )
        if not is_known or before is None or before.passages != planned.passages:
            self._read_cluster(before, planned)
        elif recorded is not None and recorded.state == UPDATING:
            self.writer.roll_back_unpublished(planned.passages, planned.version)
        self.ledger.set_state(LedgerState(planned.passages, planned.version, UPDATING))
        is_same = before is not None and before.passages == planned.passages
        return self._drop_removed_records(planned) if is_same else planned

    def _end_update(self, last: Manifest, state: str, former: str | None, *, purges_removed: bool) -> None:
        if former:
            self.writer.drop_passages(former)
        if purges_removed:
            last = self._drop_removed_records(last)
        self.ledger.set_state(LedgerState(last.passages, last.version, state))

    def _read_cluster(self, manifest: Manifest | None, planned: Manifest) -> None:
        """Read the contents of the cluster into the ledger; passages in another Qdrant collection do not count."""
        self.ledger.clear()
        self.writer.prepare(planned.passages, dimensions=planned.space.dimensions)
        self.writer.roll_back_unpublished(planned.passages, planned.version if manifest else -1)
        present = Counter(self.reader.passage_revisions(planned.passages))
        of_files = Counter[int]()
        for (key, _), n_passages in present.items():
            of_files[key] += n_passages
        files = [file for file in self.reader.files(after=-1) if isinstance(file, ClusterFile)]
        self.writer.delete_files(planned.passages, of_files.keys() - {file.key for file in files})
        known = (_published_file(file, present[file.key, file.revision], of_files[file.key]) for file in files)
        standing = LedgerState(planned.passages, planned.version, UPDATING)
        self.ledger.record_files(known, (), standing)
        self.ledger.record_words(self.reader.words(after=-1))

    def _drop_removed_records(self, manifest: Manifest) -> Manifest:
        """Drop the records of removed files and words; servers with an older version reload everything."""
        manifest = manifest._replace(kept_from=manifest.version)
        if manifest.version:
            self.writer.put_manifest(manifest)
            self.writer.delete_removed(manifest.version)
        return manifest


class FileChange(NamedTuple):
    """A file that differs between the index and the cluster index; `file` or `known` is None if it is missing there."""

    path: FilePath
    file: ClusterFile | None
    n_vectors: int
    known: PublishedFile | None

    @property
    def has_new_text(self) -> bool:
        """Whether its passages must be written."""
        return self.file is not None and (self.known is None or self.known.revision != self.file.revision)

    @property
    def has_new_vectors(self) -> bool:
        """Whether existing passages have got vectors."""
        known = self.known
        return (
            not self.has_new_text and known is not None and self.file is not None and self.n_vectors > known.n_vectors
        )

    @property
    def is_new_row(self) -> bool:
        """Whether its record in the catalogue must be written."""
        return self.file is not None and (self.known is None or self.known.digest != digest_of(self.file))

    @property
    def is_gone(self) -> bool:
        """Whether it must be removed."""
        return self.file is None


def digest_of(file: ClusterFile) -> str:
    """Return a digest of the catalogue record of a file."""
    return content_hash(repr(file).encode("utf-8", "surrogatepass")).hex()


def compare_files(rows: Iterator[tuple[ClusterFile, int]], known: Iterator[PublishedFile]) -> Iterator[FileChange]:
    """Yield the differences of two sequences sorted by path."""
    files = _join_sorted(((row[0].path, row) for row in rows), ((file.path, file) for file in known))
    for path, row, published in files:
        file, n_vectors = row or (None, 0)
        yield FileChange(path, file, n_vectors, published)


def changed_words(current: Iterator[WordCount], known: Iterator[WordCount]) -> Iterator[WordCount]:
    """Yield the differences of two sequences sorted by word."""
    words = _join_sorted(((word.word, word) for word in current), ((word.word, word) for word in known))
    return (after or WordCount(word, 0) for word, after, before in words if after != before)


def _join_sorted(
    left: Iterator[tuple[Key, Left]], right: Iterator[tuple[Key, Right]]
) -> Iterator[tuple[Key, Left | None, Right | None]]:
    """Yield each key of two sequences sorted by key, with its items; None for a missing one."""
    entries = merge(((key, 0, item) for key, item in left), ((key, 1, item) for key, item in right), key=itemgetter(0))
    for key, of_key in groupby(entries, itemgetter(0)):
        items: dict[int, Any] = {side: item for _, side, item in of_key}
        yield key, items.get(0), items.get(1)


def batch_changes(changes: Iterable[FileChange]) -> Iterator[list[FileChange]]:
    """Yield changes in lists that are published together."""
    batch: list[FileChange] = []
    n_passages = 0
    for change in changes:
        batch.append(change)
        n_passages += change.file.n_passages if change.file and (change.has_new_text or change.has_new_vectors) else 0
        if n_passages >= _BATCH_PASSAGES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, n_passages = [], 0
    if batch:
        yield batch


def _ledger_entry(change: FileChange, written: Sequence[NewPassage] | None) -> PublishedFile:
    assert change.file is not None  # noqa: S101 - only files that are there are noted
    n_before = change.known.n_vectors if change.known else 0
    n_vectors = n_before if written is None else sum(passage.vector is not None for passage in written)
    return PublishedFile(change.path, digest_of(change.file), change.file.revision, n_vectors)


def _published_file(file: ClusterFile, n_of_text: int, n_of_file: int) -> PublishedFile:
    """Return the ledger entry of a file; if passages are missing or superfluous, its text counts as another one."""
    is_whole = n_of_text == n_of_file == file.n_passages
    return PublishedFile(file.path, digest_of(file), file.revision if is_whole else "", 0)
