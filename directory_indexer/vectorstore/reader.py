"""The generation that this process reads, opened once and kept open until another one is asked for."""

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
    """Reads one generation at a time, by the embedded engine; threads may share it."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._lock = threading.Lock()
        self._opened: _OpenGeneration | None = None
        self._abandoned: list[edge.EdgeShard] = []
        """Closing these would touch what is no longer there."""

    @contextlib.contextmanager
    def reading(self, generation: int) -> Iterator[edge.EdgeShard | None]:
        """Open a generation, if it is not open, for questions of one thread at a time; the empty one is None."""
        if generation == 0:
            yield None
            return
        with self._lock, translated_errors("read vectors", VectorsLostError):
            if self._opened is None or self._opened.number != generation:
                # Opened first, so that what both share stays in memory.
                outdated, self._opened = self._opened, self._open(generation)
                if outdated:
                    self._leave(outdated)
            else:
                self._require_whole(self._opened)
            yield self._opened.shard

    def discard_others(self, generation: int) -> None:
        """Remove all generations but the given one that nobody reads any more."""
        with self._lock, translated_errors("remove old vectors"):
            opened = self._opened
            if opened and opened.number != generation:
                self._opened = None
                self._leave(opened)
            self._generations.discard_others(generation)

    def close(self) -> None:
        """Close what is open; the next question opens it again."""
        with self._lock, translated_errors("close vectors"):
            opened, self._opened = self._opened, None
            if opened:
                self._leave(opened)

    def _require_whole(self, opened: _OpenGeneration) -> None:
        """Make sure that a generation that was opened before can be read without ending the process."""
        try:
            opened.held.require_whole()
        except VectorsLostError:
            self._opened = None
            self._leave(opened)
            raise

    def _leave(self, opened: _OpenGeneration) -> None:
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
            # Not a walk: other readers make and remove files of their own in there while they open and close it.
            bring_into_memory(
                held.files.path / name for name in held.lengths if os.path.basename(name) in {CODES, _OLD_CODES}
            )
            return _OpenGeneration(generation, edge.EdgeShard.load(str(held.files.path)), held)
        except BaseException:
            held.release()
            raise
