"""One update of a cluster index, from the first word to the last passage."""

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
"""Gives the vectors of those chunks that have one."""

UNDER_WAY: Final = ""
"""The state that a ledger is of while the cluster index is being written."""


class Sources(NamedTuple):
    """What an update reads and writes; `documents` is the directory of what was sent, which stays out."""

    writer: ClusterWriter
    ledger: ClusterLedger
    vectors: Vectors
    documents: FilePath


class ClusterUpdate:
    """One update, from the first word to the last passage."""

    def __init__(self, sources: Sources, snapshot: Snapshot, manifest: Manifest, *, is_filling: bool) -> None:
        self._writer = sources.writer
        self._ledger = sources.ledger
        self._vectors = sources.vectors
        self._documents = sources.documents
        self._snapshot = snapshot
        self._manifest = manifest
        self._is_filling = is_filling
        """Whether another Qdrant collection answers until all passages are in this one, as with another model."""

    def write(self, must_stop: Callable[[], bool]) -> Manifest | None:
        """Write all that has changed, and give the last manifest; None if it had to stop before the end."""
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
        return (one for one in changes if one.has_new_text or one.has_new_vectors or one.is_new_row or one.is_gone)

    def _write_files(self, batch: Sequence[Change]) -> None:
        version, passages = self._manifest.version + 1, self._manifest.passages
        new = {one.path: self._passages(one.file) for one in batch if one.file and one.has_new_text}
        late = {one.path: self._passages(one.file) for one in batch if one.file and one.has_new_vectors}
        gone = [one.path for one in batch if one.is_gone]
        replaced = [one.path for one in batch if one.known is not None and (one.has_new_text or one.is_gone)]
        self._writer.put_passages(passages, _all(new), since=version)
        self._writer.add_vectors(passages, _all(late))
        self._writer.put_files((one.file for one in batch if one.file and one.is_new_row), gone, version=version)
        if not self._is_filling:
            self._writer.end(passages, replaced, before=version)
            self._manifest = self._manifest._replace(version=version)
            self._writer.put_manifest(self._manifest)
            self._writer.delete_ended(passages, version)
        put = [_noted(one, new.get(one.path) or late.get(one.path)) for one in batch if one.file]
        self._ledger.note_files(put, gone, Standing(passages, self._manifest.version, UNDER_WAY))

    def _passages(self, file: ClusterFile) -> list[NewPassage]:
        chunks = self._snapshot.cluster_rows.chunks(file)
        vectors = self._vectors(self._snapshot, [one.chunk_id for one in chunks])
        below = file.path[len(file.directory) :].lstrip(os.sep)
        new = []
        for one in chunks:
            fields = PassageFields(one.chunk.text, one.chunk.heading, file.facts.title, below)
            id_ = new_chunk_id(file.path, ContentHash(bytes.fromhex(file.hash)), one.chunk.ordinal)
            vector = vectors.get(one.chunk_id)
            new.append(
                NewPassage(
                    ClusterPassage(id_, file.path, file.facts, one.chunk),
                    file.revision,
                    passage_weights(fields, language=file.facts.language),
                    words_of(fields),
                    None if vector is None else vector.tolist(),
                )
            )
        return new


def _noted(change: Change, written: Sequence[NewPassage] | None) -> Published:
    assert change.file is not None  # noqa: S101 - only files that are there are noted
    n_before = change.known.n_vectors if change.known else 0
    n_vectors = n_before if written is None else sum(one.vector is not None for one in written)
    return Published(change.path, digest_of(change.file), change.file.revision, n_vectors)


def _all(passages: Mapping[FilePath, Sequence[NewPassage]]) -> Iterator[NewPassage]:
    for of_file in passages.values():
        yield from of_file
