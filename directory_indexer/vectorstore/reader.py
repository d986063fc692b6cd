"""The open generation of this process, kept open until another one is needed."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import NamedTuple

import qdrant_edge as edge

from directory_indexer.errors import GenerationGoneError, VectorsLostError
from directory_indexer.vectorstore.engine import CODES, bring_into_memory, translated_errors
from directory_indexer.vectorstore.generations import Generations, HeldGeneration

_OLD_CODES = "quantized.data"


class _OpenGeneration(NamedTuple):
    number: int
    shard: edge.EdgeShard
    held: HeldGeneration

    def close(self) -> None:
        try:
            self.shard.close()
        finally:
            self.held.release()


class GenerationReader:
    """Read access to one generation at a time, by the embedded engine; threads may share it."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._lock = threading.Lock()
        self._opened: _OpenGeneration | None = None
        self._abandoned: list[edge.EdgeShard] = []
        """Shards that are never closed: closing them would access pages that no longer exist."""

    @contextlib.contextmanager
    def reading(self, generation: int) -> Iterator[edge.EdgeShard | None]:
        """Yield a generation for queries of one thread at a time, opening it if necessary; None for the empty one."""
        if generation == 0:
            yield None
            return
        with self._lock, translated_errors("read vectors", VectorsLostError):
            if self._opened is None or self._opened.number != generation:
                # Opened before the old one is closed, so that shared files stay in memory.
                outdated, self._opened = self._opened, self._open(generation)
                if outdated:
                    self._close_shard(outdated)
            else:
                self._require_whole(self._opened)
            yield self._opened.shard

    def discard_others(self, generation: int) -> None:
        """Remove all other generations that are not being read."""
        with self._lock, translated_errors("remove old vectors"):
            opened = self._opened
            if opened and opened.number != generation:
                self._opened = None
                self._close_shard(opened)
            self._generations.discard_others(generation)

    def close(self) -> None:
        """Close the open generation; the next query opens it again."""
        with self._lock, translated_errors("close vectors"):
            opened, self._opened = self._opened, None
            if opened:
                self._close_shard(opened)

    def _require_whole(self, opened: _OpenGeneration) -> None:
        """Ensure that an open generation can be read without a crash of the process."""
        try:
            opened.held.require_whole()
        except VectorsLostError:
            self._opened = None
            self._close_shard(opened)
            raise

    def _close_shard(self, opened: _OpenGeneration) -> None:
        try:
            opened.held.require_whole()
        except VectorsLostError:
            self._abandoned.append(opened.shard)
            opened.held.release()
        else:
            opened.close()

    def _open(self, generation: int) -> _OpenGeneration:
        held = self._generations.hold(generation)
        if held is None:
            raise GenerationGoneError(f"generation {generation} of the vectors is gone")
        try:
            held.files.allocate(held.lengths)
            # The directory is not listed: other readers create and remove files in it.
            bring_into_memory(
                held.files.path / name for name in held.lengths if os.path.basename(name) in {CODES, _OLD_CODES}
            )
            return _OpenGeneration(generation, edge.EdgeShard.load(str(held.files.path)), held)
        except BaseException:
            held.release()
            raise
