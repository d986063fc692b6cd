"""Numbered directories that are immutable once published, and kept while they are read.

A generation is written as a draft that nobody reads, flushed to the disk, and renamed into place. So a crash leaves
only drafts and unreferenced generations; the next writer discards both. The caller ensures that one process writes at a
time; any number may read.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from directory_indexer.errors import GenerationGoneError, VectorStoreError
from directory_indexer.lazy import lazily
from directory_indexer.lock import HeldLock, try_lock
from directory_indexer.permissions import directory_mode
from directory_indexer.vectorstore.generation_files import GenerationFiles, size_bytes, sync_directory

with lazily:
    import tempfile


_GENERATION_NAME = re.compile(r"generation-(\d+)(?:\.lock)?")
_SPARE_BYTES = 64_000_000


class HeldGeneration(NamedTuple):
    """A published generation that is locked against removal until it is released."""

    files: GenerationFiles
    lengths: dict[str, int]
    lock: HeldLock

    def require_whole(self) -> None:
        """Check that every file has the length that it was published with.

        Reading beyond the end of a truncated file through a memory map kills the process without a message.

        Raises:
            VectorsLostError: a file is missing or has another length.
        """
        self.files.require_lengths(self.lengths)

    def release(self) -> None:
        """Allow the generation to be removed."""
        self.lock.release()


class Generations:
    """The generations in one directory, which need not exist yet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def hold(self, number: int) -> HeldGeneration | None:
        """Lock a generation while it is read; None if it has been discarded.

        Raises:
            VectorsLostError: files of the generation are missing or have another length than they were published with.
        """
        if not self._directory.is_dir():
            return None
        lock = try_lock(self._lock_path(number), exclusive=False)
        if lock is None:
            return None
        files = self.files(number)
        try:
            if files.path.is_dir():
                return HeldGeneration(files, files.lengths(), lock)
        except BaseException:
            lock.release()
            raise
        lock.release()
        return None

    @contextlib.contextmanager
    def draft(self, base: int, *, linked: frozenset[str]) -> Iterator[Path]:
        """Yield a directory for a draft, with the files of generation `base` unless that is 0; remove it at the end.

        Files whose names are in `linked` may only be read or replaced: they are hard links to those of the base, if the
        file system supports them.

        Raises:
            VectorsLostError: the base is missing or damaged.
            VectorStoreError: the disk is too full.
        """
        for directory in (self._directory.parent, self._directory):
            directory.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        self.require_space(base)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=self._directory))
        try:
            if base:
                self.files(base).copy_to(draft, linked)
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def publish(self, draft: Path, *, n_vectors: int) -> int:
        """Make a draft durable, and rename it to the next free number, which is returned."""
        GenerationFiles(draft).seal(n_vectors=n_vectors)
        number = max(self._numbers(), default=0) + 1
        draft.rename(self.files(number).path)
        sync_directory(self._directory)
        return number

    def files(self, number: int) -> GenerationFiles:
        """Return the files of a generation, which may have been removed."""
        return GenerationFiles(self._directory / f"generation-{number}")

    def require_intact(self, number: int) -> None:
        """Read all files of a generation, and compare them with their checksums.

        Raises:
            GenerationGoneError: it has been discarded.
            VectorsLostError: it is damaged.
        """
        held = self.hold(number)
        if held is None:
            raise GenerationGoneError(f"generation {number} of the vectors is gone")
        try:
            held.files.require_intact()
        finally:
            held.release()

    def copy_to(self, number: int, directory: Path) -> bool:
        """Copy a generation into another directory by hard links; return whether it still existed.

        Raises:
            VectorsLostError: it is damaged.
        """
        held = self.hold(number)
        if held is None:
            return False
        try:
            target = directory / held.files.path.name
            target.mkdir(mode=directory_mode(), parents=True)
            held.files.copy_to(target, frozenset(os.path.basename(name) for name in held.lengths))
            held.files.copy_contents_to(target)
        finally:
            held.release()
        return True

    def discard_others(self, number: int) -> None:
        """Remove abandoned drafts, and all other generations that are not being read."""
        for draft in self._directory.glob("draft-*"):
            shutil.rmtree(draft, ignore_errors=True)
        for other in self._numbers() - {number}:
            self._discard(other)

    def size_bytes(self) -> int:
        """Return the size of all generations on disk; shared files count once."""
        return size_bytes(self._directory)

    def require_space(self, base: int) -> None:
        """Ensure that there is room for a draft of a generation.

        Raises:
            VectorStoreError: the disk is too full.
        """
        # The engine writes through memory maps: on a full disk the system kills the process without a message.
        needed = _SPARE_BYTES + 2 * size_bytes(self.files(base).path)
        free = shutil.disk_usage(self._directory).free
        if free < needed:
            raise VectorStoreError(
                f"'{self._directory}' has {free // 10**6} MB left, and merging vectors may take {needed // 10**6} MB",
                hint="free some disk space",
            )

    def _discard(self, number: int) -> None:
        lock_path = self._lock_path(number)
        lock = try_lock(lock_path, exclusive=True)
        if lock is None:
            return
        # Windows removes no file that is open anywhere, for instance in a virus scanner; the next writer tries again.
        with lock, contextlib.suppress(OSError):
            path = self.files(number).path
            if path.exists():
                # A reader that comes too late must find nothing rather than a part.
                doomed = path.rename(self._directory / f"draft-discarded-{number}")
                shutil.rmtree(doomed, ignore_errors=True)
            lock_path.unlink()

    def _numbers(self) -> set[int]:
        names = (_GENERATION_NAME.fullmatch(path.name) for path in self._directory.glob("generation-*"))
        return {int(name[1]) for name in names if name}

    def _lock_path(self, number: int) -> Path:
        return self._directory / f"generation-{number}.lock"
