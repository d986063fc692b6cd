"""A single update of a cluster index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from directory_indexer.docstore.cluster_ledger import ClusterLedger, Published, Standing
from directory_indexer.docstore.store import Snapshot
from directory_indexer.ids import ContentHash, new_chunk_id
from directory_indexer.indexing.cluster_changes import Change, changed_words, compared, cut, digest_of, in_batches
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.relevance.sparse import PassageFields, passage_weights, words_of
from directory_indexer.vectorstore.cluster import ClusterFile, ClusterPassage, Manifest, NewPassage

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.ids import ChunkId
    from directory_indexer.vectorstore.cluster_writer import ClusterWriter

Vectors = Callable[[Snapshot, "Sequence[ChunkId]"], "dict[ChunkId, NDArray[np.float32]]"]
"""Returns the vectors of those chunks that have one."""

UNDER_WAY: Final = ""
"""The state of a ledger while the cluster index is being written."""


class Sources(NamedTuple):
    """The sources and targets of an update; `documents` is the directory of sent documents, which are excluded."""

    writer: ClusterWriter
    ledger: ClusterLedger
    vectors: Vectors
    documents: FilePath


class ClusterUpdate:
    """A single update, from the first word to the last passage."""

    def __init__(self, sources: Sources, snapshot: Snapshot, manifest: Manifest, *, is_filling: bool) -> None:
        self._writer = sources.writer
        self._ledger = sources.ledger
        self._vectors = sources.vectors
        self._documents = sources.documents
        self._snapshot = snapshot
        self._manifest = manifest
        self._is_filling = is_filling
        """Whether another Qdrant collection answers until this one is complete, as after a change of the model."""

    def write(self, must_stop: Callable[[], bool]) -> Manifest | None:
        """Write all changes, and return the last manifest; None if it was stopped before the end."""
        first = self._manifest.version
        has_new_words = self._write_words()
        for batch in in_batches(self._changes()):
            if must_stop():
                return None
            self._write_files(batch)
        if (has_new_words or self._is_filling) and self._manifest.version == first:
            self._manifest = self._manifest._replace(version=first + 1)
        self._writer.put_manifest(self._manifest)
        return self._manifest

    def _write_words(self) -> bool:
        has_any = False
        changed = changed_words(self._snapshot.cluster_rows.words(), self._ledger.words())
        for batch in cut(changed):
            self._writer.put_words(batch, version=self._manifest.version + 1)
            self._ledger.note_words(batch)
            has_any = True
        return has_any

    def _changes(self) -> Iterator[Change]:
        rows = self._snapshot.cluster_rows.files(without=self._documents)
        changes = compared(rows, self._ledger.files())
        return (
            change
            for change in changes
            if change.has_new_text or change.has_new_vectors or change.is_new_row or change.is_gone
        )

    def _write_files(self, batch: Sequence[Change]) -> None:
        version, passages = self._manifest.version + 1, self._manifest.passages
        new = {change.path: self._passages(change.file) for change in batch if change.file and change.has_new_text}
        late = {change.path: self._passages(change.file) for change in batch if change.file and change.has_new_vectors}
        gone = [change.path for change in batch if change.is_gone]
        replaced = [
            change.path for change in batch if change.known is not None and (change.has_new_text or change.is_gone)
        ]
        self._writer.put_passages(passages, _chain(new), since=version)
        self._writer.add_vectors(passages, _chain(late))
        self._writer.put_files(
            (change.file for change in batch if change.file and change.is_new_row), gone, version=version
        )
        if not self._is_filling:
            self._writer.end(passages, replaced, before=version)
            self._manifest = self._manifest._replace(version=version)
            self._writer.put_manifest(self._manifest)
            self._writer.delete_ended(passages, version)
        put = [_ledger_entry(change, new.get(change.path) or late.get(change.path)) for change in batch if change.file]
        self._ledger.note_files(put, gone, Standing(passages, self._manifest.version, UNDER_WAY))

    def _passages(self, file: ClusterFile) -> list[NewPassage]:
        chunks = self._snapshot.cluster_rows.chunks(file)
        vectors = self._vectors(self._snapshot, [chunk.chunk_id for chunk in chunks])
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
                    words_of(fields),
                    None if vector is None else vector.tolist(),
                )
            )
        return new


def _ledger_entry(change: Change, written: Sequence[NewPassage] | None) -> Published:
    assert change.file is not None  # noqa: S101 - only files that are there are noted
    n_before = change.known.n_vectors if change.known else 0
    n_vectors = n_before if written is None else sum(passage.vector is not None for passage in written)
    return Published(change.path, digest_of(change.file), change.file.revision, n_vectors)


def _chain(passages: Mapping[FilePath, Sequence[NewPassage]]) -> Iterator[NewPassage]:
    for of_file in passages.values():
        yield from of_file
