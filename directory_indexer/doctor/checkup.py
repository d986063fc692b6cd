"""Read-only checks of an index: integrity, consistency and completeness."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from directory_indexer.errors import (
    CorruptIndexError,
    IndexMismatchError,
    VectorsLostError,
    VectorStoreError,
)
from directory_indexer.findings import Finding, Verdict
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.paths import os_path
from directory_indexer.permissions import is_open
from directory_indexer.vectorstore import VectorStore

with lazily:
    from directory_indexer.docstore.store import DocStore, Snapshot


_GIB = 1 << 30
_FREE_BYTES = 500_000_000
_REPAIR = "dirindex doctor --repair mends it"


class Checkup:
    """Checks all parts of an index; `vectorstore` is the one that holds its vectors."""

    def __init__(self, docstore: DocStore, vectorstore: VectorStore) -> None:
        self._docstore = docstore
        self._vectorstore = vectorstore

    def findings(self) -> Iterator[Finding]:
        """Yield findings on permissions, space, database, full-text index, directories and vectors."""
        yield self._permissions()
        yield self._space()
        yield self._database()
        yield from self._values()
        yield self.words()
        with self._docstore.snapshot() as snapshot:
            yield from _directories(snapshot)
            yield _coverage(snapshot)
            yield from _shared_texts(snapshot)
        yield from self._vectors()

    def open_to_others(self) -> list[Path]:
        """Return the paths of the index that other users of this machine can read."""
        directory = self._docstore.path.parent
        return [path for path in (directory, *directory.glob("*")) if path.exists() and _is_open(path)]

    def _permissions(self) -> Finding:
        if open_to_others := self.open_to_others():
            names = ", ".join(map(str, open_to_others))
            return Finding("permissions", Verdict.WARNING, f"others can read {names}", _REPAIR)
        return Finding("permissions", Verdict.OK, f"{self._docstore.path.parent} is private")

    def _space(self) -> Finding:
        free = shutil.disk_usage(self._docstore.path.parent).free
        message = f"{free / _GIB:.1f} GiB free for the index"
        if free < _FREE_BYTES:
            return Finding("disk", Verdict.WARNING, message, "free some disk space")
        return Finding("disk", Verdict.OK, message)

    def _database(self) -> Finding:
        try:
            self._docstore.upkeep.require_integrity()
        except CorruptIndexError as error:
            return Finding("database", Verdict.PROBLEM, error.message, error.hint or "")
        return Finding("database", Verdict.OK, f"{self._docstore.path} is intact")

    def _values(self) -> Iterator[Finding]:
        if names := self._docstore.upkeep.damaged_values():
            message = f"{self._docstore.path}: {', '.join(names)} of rows are damaged"
            yield Finding("values", Verdict.PROBLEM, message, _REPAIR)

    def words(self) -> Finding:
        """Check that the full-text index can be read and has every chunk."""
        try:
            with self._docstore.snapshot() as snapshot:
                snapshot.words.read_through()
                n_rows, n_chunks = snapshot.words.count_rows(), snapshot.chunks.count()
        except CorruptIndexError:
            return Finding("words", Verdict.PROBLEM, "the full-text index is damaged", _REPAIR)
        if n_rows != n_chunks:
            message = f"the full-text index has {n_rows:,} rows for {n_chunks:,} chunks"
            return Finding("words", Verdict.PROBLEM, message, _REPAIR)
        return Finding("words", Verdict.OK, f"{n_chunks:,} chunks are searchable by words")

    def _vectors(self) -> Iterator[Finding]:
        try:
            yield self._vectorstore.health()
            yield self._docstore.read(self._agreement)
        except VectorsLostError as error:
            yield Finding("vectors", Verdict.PROBLEM, error.message, _REPAIR)
        except (VectorStoreError, IndexMismatchError) as error:
            yield Finding("vectors", Verdict.PROBLEM, error.message, error.hint or "")

    def _agreement(self, snapshot: Snapshot) -> Finding:
        lost, unknown = self.disagreement(snapshot)
        if lost or unknown:
            message = f"vectors that are lost: {len(lost):,}; that belong to no chunk: {len(unknown):,}"
            return Finding("vectors", Verdict.PROBLEM, message, _REPAIR)
        n_stored, n_pending = len(snapshot.vectors.embedded_chunk_ids()), snapshot.vectors.count_pending()
        places = f"{n_stored:,} in the vector store, {n_pending:,} in the database until they are merged"
        return Finding("vectors", Verdict.OK, f"every vector belongs to a chunk: {places}")

    def disagreement(self, snapshot: Snapshot) -> tuple[set[ChunkId], set[ChunkId]]:
        """Compare both stores; return the ids of missing vectors and of unknown ones.

        Raises:
            VectorsLostError: the vectors are damaged.
            GenerationGoneError: they are missing, or were replaced meanwhile.
        """
        generation = snapshot.vector_sets.generation(self._vectorstore.place)
        expected = snapshot.vectors.embedded_chunk_ids()
        self._vectorstore.require_intact(generation)
        stored = set(self._vectorstore.at(generation).ids()) if generation else set()
        # An interrupted merge may have written pending vectors to a server.
        pending = snapshot.vectors.pending_of(list(stored - expected))
        return expected - stored, stored - expected - set(snapshot.stale_points.all()) - pending.keys()


def _directories(snapshot: Snapshot) -> Iterator[Finding]:
    for directory in snapshot.directories.all():
        path = os_path(directory)
        if os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK):
            yield Finding("directory", Verdict.OK, f"{path} can be read")
        else:
            yield Finding(
                "directory",
                Verdict.WARNING,
                f"{path} cannot be read; what was indexed of it stays searchable",
                f"mount it again, or: dirindex forget {path}",
            )


def _coverage(snapshot: Snapshot) -> Finding:
    waiting = snapshot.embedding_queue.count()
    if waiting:
        return Finding("meaning", Verdict.WARNING, f"{waiting:,} chunks wait for their vectors", "dirindex index")
    return Finding("meaning", Verdict.OK, "every chunk is searchable by meaning")


def _shared_texts(snapshot: Snapshot) -> Iterator[Finding]:
    if n_astray := snapshot.shared_texts.count_astray():
        message = f"{n_astray} files share a text that no file holds, and cannot be found"
        yield Finding("shared texts", Verdict.PROBLEM, message, _REPAIR)


def _is_open(path: Path) -> bool:
    return os.name == "posix" and is_open(path.stat())
