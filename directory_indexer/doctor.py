"""Checks that an index is whole and its parts agree, and mends what they lack from the texts in SQLite."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from directory_indexer.embedders import Embedder
from directory_indexer.errors import (
    CorruptIndexError,
    IndexMismatchError,
    ProviderError,
    VectorsLostError,
    VectorStoreError,
)
from directory_indexer.findings import Finding, Verdict
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.lock import write_lock
from directory_indexer.paths import os_path
from directory_indexer.vectorstore import VectorStore

with lazily:
    from directory_indexer.docstore.store import DocStore, Snapshot
    from directory_indexer.indexing.vectorizer import Vectorizer


_FREE_BYTES = 500_000_000
_REPAIR = "dirindex doctor --repair mends it"


class Doctor:
    """Check one index, and with `repair` mend it under the write lock."""

    def __init__(
        self,
        *,
        docstore: DocStore,
        vectorstore: VectorStore,
        vectorizer: Vectorizer,
        embedder: Callable[[], Embedder],
        lock_path: Path,
    ) -> None:
        self._docstore = docstore
        self._vectorstore = vectorstore
        self._vectorizer = vectorizer
        self._embedder = embedder
        self._lock_path = lock_path

    def check(self) -> Iterator[Finding]:
        """Look at everything, change nothing."""
        yield self._permissions()
        yield self._space()
        yield self._database()
        yield self._words()
        with self._docstore.snapshot() as snapshot:
            yield from _directories(snapshot)
            yield _coverage(snapshot)
        yield from self._vectors()
        yield provider_finding(self._embedder)

    def repair(self) -> Iterator[Finding]:
        """Mend what can be mended, then look at everything.

        Raises:
            LockedError: an index run is going on; it mends much by itself.
            CorruptIndexError: the database is damaged and must be set aside.
            VectorStoreError: the vector store cannot be reached; what does not need it is mended.
        """
        with write_lock(self._lock_path, wait=False):
            self._docstore.require_integrity()
            self._repair_permissions()
            yield from self._repair_words()
            yield from self._repair_vectors()
            for _ in self._vectorizer.embed_pending():
                pass
            self._vectorizer.complete_switch()
            self._vectorizer.merge_all()
            self._docstore.checkpoint(words_kept_seconds=0)
        yield from self.check()

    def _repair_words(self) -> Iterator[Finding]:
        if self._words().verdict is Verdict.OK and self._docstore.has_whole_words():
            return
        with self._docstore.transaction() as transaction:
            transaction.rebuild_words()
        yield Finding("words", Verdict.REPAIRED, "the full-text index was built again from the stored texts")

    def _repair_vectors(self) -> Iterator[Finding]:
        try:
            lost, unknown = self._docstore.ask(self._disagreement)
        except VectorsLostError:
            with self._docstore.transaction() as transaction:
                transaction.forget_vectors()
            yield Finding("vectors", Verdict.REPAIRED, "all vectors made again")
            return
        if lost or unknown:
            with self._docstore.transaction() as transaction:
                transaction.forget_vectors_of(lost)
                transaction.add_stale_points(unknown)
            message = f"{len(lost)} lost vectors made again, {len(unknown)} unknown ones removed"
            yield Finding("vectors", Verdict.REPAIRED, message)

    def _permissions(self) -> Finding:
        open_to_others = [path for path in self._private_paths() if _is_open(path)]
        if open_to_others:
            names = ", ".join(map(str, open_to_others))
            return Finding("permissions", Verdict.WARNING, f"others can read {names}", _REPAIR)
        return Finding("permissions", Verdict.OK, f"{self._docstore.path.parent} is private")

    def _repair_permissions(self) -> None:
        for path in self._private_paths():
            if _is_open(path):
                path.chmod(0o700 if path.is_dir() else 0o600)

    def _private_paths(self) -> list[Path]:
        directory = self._docstore.path.parent
        return [path for path in (directory, *directory.glob("*")) if path.exists()]

    def _space(self) -> Finding:
        free = shutil.disk_usage(self._docstore.path.parent).free
        message = f"{free / 1e9:.1f} GB free for the index"
        if free < _FREE_BYTES:
            return Finding("disk", Verdict.WARNING, message, "free some disk space")
        return Finding("disk", Verdict.OK, message)

    def _database(self) -> Finding:
        try:
            self._docstore.require_integrity()
        except CorruptIndexError as error:
            return Finding("database", Verdict.PROBLEM, error.message, error.hint or "")
        return Finding("database", Verdict.OK, f"{self._docstore.path} is whole")

    def _words(self) -> Finding:
        try:
            with self._docstore.snapshot() as snapshot:
                snapshot.read_words()
                n_rows, n_chunks = snapshot.count_words_rows(), snapshot.n_chunks
        except CorruptIndexError:
            return Finding("words", Verdict.PROBLEM, "the full-text index is damaged", _REPAIR)
        if n_rows != n_chunks:
            message = f"the full-text index has {n_rows} rows for {n_chunks} chunks"
            return Finding("words", Verdict.PROBLEM, message, _REPAIR)
        return Finding("words", Verdict.OK, f"{n_chunks} chunks are searchable by words")

    def _vectors(self) -> Iterator[Finding]:
        try:
            yield self._vectorstore.health()
            yield self._docstore.ask(self._agreement)
        except VectorsLostError as error:
            yield Finding("vectors", Verdict.PROBLEM, error.message, _REPAIR)
        except (VectorStoreError, IndexMismatchError) as error:
            yield Finding("vectors", Verdict.PROBLEM, error.message, error.hint or "")

    def _agreement(self, snapshot: Snapshot) -> Finding:
        lost, unknown = self._disagreement(snapshot)
        if lost or unknown:
            message = f"{len(lost)} vectors are lost, {len(unknown)} belong to nothing"
            return Finding("vectors", Verdict.PROBLEM, message, _REPAIR)
        count = len(snapshot.vectors.embedded_chunk_ids()) + snapshot.vectors.count_pending()
        return Finding("vectors", Verdict.OK, f"{count} vectors agree with the database")

    def _disagreement(self, snapshot: Snapshot) -> tuple[set[ChunkId], set[ChunkId]]:
        """Compare both stores: vectors that should be there and are not, and the other way round.

        Raises:
            VectorsLostError: they are damaged.
            GenerationGoneError: they are not there, or were replaced meanwhile.
        """
        generation = snapshot.vectors.generation(self._vectorstore.place)
        expected = snapshot.vectors.embedded_chunk_ids()
        self._vectorstore.require_intact(generation)
        stored = set(self._vectorstore.ids(generation)) if generation else set()
        # A merge that was cut off may have brought pending vectors to a server.
        pending = snapshot.vectors.pending_of(list(stored - expected))
        return expected - stored, stored - expected - set(snapshot.vectors.stale_points()) - pending.keys()


def provider_finding(get_embedder: Callable[[], Embedder]) -> Finding:
    """Let the embedder answer a question."""
    started = time.monotonic()
    try:
        embedder = get_embedder()
        vector = embedder.embed_query("is anybody there?")
        seconds = time.monotonic() - started
        space, max_tokens = embedder.space, embedder.max_tokens
    except ProviderError as error:
        return Finding("provider", Verdict.PROBLEM, error.message, error.hint or "")
    name = f"{space.provider}/{space.model}"
    reads = f", and reads {max_tokens:,} tokens of a text" if max_tokens else ""
    message = f"{name} answers in {seconds:.2f} s with {vector.size} dimensions{reads}"
    return Finding("provider", Verdict.OK, message)


def _directories(snapshot: Snapshot) -> Iterator[Finding]:
    for directory in snapshot.directories():
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
    waiting = snapshot.vectors.count_chunks_to_embed()
    if waiting:
        return Finding("meaning", Verdict.WARNING, f"{waiting} chunks wait for their vectors", "dirindex index")
    return Finding("meaning", Verdict.OK, "every chunk is searchable by meaning")


def _is_open(path: Path) -> bool:
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
