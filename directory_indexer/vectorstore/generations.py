"""Numbered directories that never change once they are published, and are kept for as long as somebody reads them.

A generation is written as a draft that nobody reads, made durable, and renamed into place. So a crash leaves only
drafts, and generations that nothing refers to yet; the next writer discards both. One process writes at a time, which
is the caller's part; any number read.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

from directory_indexer.errors import GenerationGoneError, VectorsLostError, VectorStoreError
from directory_indexer.lazy import lazily
from directory_indexer.lock import HeldLock, try_lock

with lazily:
    import tempfile


_GENERATION_NAME = re.compile(r"generation-(\d+)(?:\.lock)?")
_CONTENTS = "contents.json"
_DIGESTS = "checksums.json"
_COUNT = "n_vectors"
_BLOCK = bytes(1 << 16)
_SPARE_BYTES = 64_000_000
_HINT = "dirindex index makes the vectors again from the stored texts"


class HeldGeneration(NamedTuple):
    """A published generation that is not discarded before it is released."""

    path: Path
    lengths: dict[str, int]
    lock: HeldLock

    def require_whole(self) -> None:
        """Look whether every file has the length that it was published with.

        To read what was cut off from a file that is mapped into memory ends the process without a word.

        Raises:
            VectorsLostError: it has not.
        """
        _require_lengths(self.path, self.lengths)

    def release(self) -> None:
        """Let the generation be discarded."""
        self.lock.release()


class Generations:
    """The generations in one directory, which need not exist yet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def hold(self, number: int) -> HeldGeneration | None:
        """Keep a generation while it is read; None when it has been discarded.

        Raises:
            VectorsLostError: files of the generation are missing or have another length than they were published with.
        """
        if not self._directory.is_dir():
            return None
        lock = try_lock(self._lock_path(number), exclusive=False)
        if lock is None:
            return None
        path = self._path(number)
        try:
            if path.is_dir():
                return HeldGeneration(path, _check(path), lock)
        except BaseException:
            lock.release()
            raise
        lock.release()
        return None

    @contextlib.contextmanager
    def draft(self, base: int, *, linked: frozenset[str]) -> Iterator[Path]:
        """Give a directory to work in, with the files of generation `base` unless that is 0; it is gone afterwards.

        Files whose names are in `linked` may only be read or replaced: they are those of the base itself, where the
        file system can do that.

        Raises:
            VectorsLostError: the base is not there or damaged.
            VectorStoreError: the disk is too full.
        """
        for directory in (self._directory.parent, self._directory):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.require_space(base)
        # Only a merge needs it, and a search none: 1 ms.

        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=self._directory))
        try:
            if base:
                _clone(self._path(base), draft, linked)
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def publish(self, draft: Path, *, n_vectors: int) -> int:
        """Make a draft durable and give it the next number, which no generation on disk has."""
        (draft / _COUNT).write_text(str(n_vectors), encoding="ascii")
        _seal(draft)
        number = max(self._numbers(), default=0) + 1
        draft.rename(self._path(number))
        _sync_directory(self._directory)
        return number

    def n_vectors(self, number: int) -> int:
        """Tell with how many vectors a generation was published.

        Raises:
            VectorsLostError: it is not there or damaged.
        """
        try:
            return int(self.content(number, _COUNT))
        except ValueError as error:
            raise VectorsLostError(f"the vectors in '{self._path(number)}' are damaged: {error}", hint=_HINT) from error

    def content(self, number: int, name: str) -> bytes:
        """Read a small file of a generation.

        Raises:
            VectorsLostError: the generation is not there or damaged.
        """
        path = self._path(number)
        _check(path)
        try:
            return (path / name).read_bytes()
        except OSError as error:
            raise VectorsLostError(f"the vectors in '{path}' are damaged: {error}", hint=_HINT) from error

    def require_intact(self, number: int) -> None:
        """Read all files of a generation, and compare them with their checksums.

        Raises:
            GenerationGoneError: it has been discarded.
            VectorsLostError: it is damaged.
        """
        held, path = self.hold(number), self._path(number)
        if held is None:
            raise GenerationGoneError(f"generation {number} of the vectors is gone")
        try:
            damaged = [name for name, digest in _digests(path).items() if _digest(path / name) != digest]
        except (OSError, ValueError) as error:
            raise VectorsLostError(f"the vectors in '{path}' are damaged: {error}", hint=_HINT) from error
        finally:
            held.release()
        if damaged:
            raise VectorsLostError(f"the vectors in '{path}' are damaged: {damaged[0]} has changed", hint=_HINT)

    def discard_others(self, number: int) -> None:
        """Remove drafts that were left behind, and the generations but one that nobody reads."""
        for draft in self._directory.glob("draft-*"):
            shutil.rmtree(draft, ignore_errors=True)
        for other in self._numbers() - {number}:
            self._discard(other)

    def size_bytes(self) -> int:
        """Measure what all of it takes on disk, files that generations share counted once."""
        return _size_bytes(self._directory)

    def require_space(self, base: int) -> None:
        """Make sure that there is room for what comes of a generation.

        Raises:
            VectorStoreError: the disk is too full.
        """
        # The engine writes through memory maps: on a full disk the system ends the process without a word.
        needed = _SPARE_BYTES + 2 * _size_bytes(self._path(base))
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
        # Windows removes nothing that anybody has open, be it a virus scanner; the next writer tries again.
        with lock, contextlib.suppress(OSError):
            path = self._path(number)
            if path.exists():
                # A reader who comes too late must find nothing rather than half of it.
                doomed = path.rename(self._directory / f"draft-discarded-{number}")
                shutil.rmtree(doomed, ignore_errors=True)
            lock_path.unlink()

    def _numbers(self) -> set[int]:
        names = (_GENERATION_NAME.fullmatch(path.name) for path in self._directory.glob("generation-*"))
        return {int(name[1]) for name in names if name}

    def _path(self, number: int) -> Path:
        return self._directory / f"generation-{number}"

    def _lock_path(self, number: int) -> Path:
        return self._directory / f"generation-{number}.lock"


def _clone(base: Path, draft: Path, linked: frozenset[str]) -> None:
    for name in _check(base):
        source, target = base / name, draft / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if source.name not in linked or not _link(source, target):
            _copy(source, target)


def _link(source: Path, target: Path) -> bool:
    try:
        target.hardlink_to(source)
    except OSError:
        return False
    return True


def _copy(source: Path, target: Path) -> None:
    # Files are allocated in large pages, most of them empty; runs of zeros stay holes.
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        while block := reader.read(len(_BLOCK)):
            if block == _BLOCK[: len(block)]:
                writer.seek(len(block), os.SEEK_CUR)
            else:
                writer.write(block)
        writer.truncate()


def _seal(draft: Path) -> None:
    paths = list(draft.rglob("*"))
    directories = [draft, *(path for path in paths if path.is_dir())]
    files = [path for path in paths if path.is_file()]
    digests_path, contents_path = draft / _DIGESTS, draft / _CONTENTS
    # What a draft was made of brought its own lists along.
    files = [path for path in files if path not in {digests_path, contents_path}]
    digests_path.write_text(json.dumps({_name(path, draft): _digest(path) for path in files}), encoding="utf-8")
    files.append(digests_path)
    contents_path.write_text(json.dumps({_name(path, draft): path.stat().st_size for path in files}), encoding="utf-8")
    for path in (*files, contents_path):
        path.chmod(0o600)
        _sync_file(path)
    for path in directories:
        path.chmod(0o700)
        _sync_directory(path)


def _check(generation: Path) -> dict[str, int]:
    """Give the files of a generation, all of which are there.

    The engine opens some damaged directories without complaint, with fewer vectors than they held.
    """
    try:
        contents: dict[str, int] = json.loads((generation / _CONTENTS).read_bytes())
    except (OSError, ValueError) as error:
        raise VectorsLostError(f"the vectors in '{generation}' are damaged: {error}", hint=_HINT) from error
    _require_lengths(generation, contents)
    return contents


def _require_lengths(generation: Path, lengths: dict[str, int]) -> None:
    directory = f"{generation}{os.sep}"
    try:
        # Every search asks: by strings, for paths as objects take three times as long.
        damaged = [name for name, length in lengths.items() if os.stat(directory + name).st_size != length]
    except OSError as error:
        raise VectorsLostError(f"the vectors in '{generation}' are damaged: {error}", hint=_HINT) from error
    if damaged:
        raise VectorsLostError(f"the vectors in '{generation}' are damaged: {damaged[0]} is cut short", hint=_HINT)


def _name(path: Path, generation: Path) -> str:
    return path.relative_to(generation).as_posix()


def _digest(path: Path) -> str:
    # Not by a memory map: where the disk cannot be read, it would end the process instead of saying so.
    digest = blake3()
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _digests(generation: Path) -> dict[str, str]:
    """Give the checksums of the files; a generation of an earlier version has none."""
    try:
        digests: dict[str, str] = json.loads((generation / _DIGESTS).read_bytes())
    except FileNotFoundError:
        return {}
    return digests


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_directory(path: Path) -> None:
    if os.name == "nt":  # Windows opens no directories, and needs not
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _size_bytes(directory: Path) -> int:
    sizes: dict[tuple[int, int], int] = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                status = Path(folder, name).lstat()
                sizes[status.st_dev, status.st_ino] = _allocated_bytes(status)
    return sum(sizes.values())


def _allocated_bytes(status: os.stat_result) -> int:
    return status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
