"""Generations: numbered directories of vector files, immutable once published, and kept while they are read.

A generation is written as a draft that nobody reads, flushed to the disk, and renamed into place. So a crash leaves
only drafts and unreferenced generations; the next writer discards both. The caller ensures that one process writes at a
time; any number may read.

The lengths and checksums of its files are stored with a generation, so that damage is detected.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from blake3 import blake3

from directory_indexer.core.errors import GenerationGoneError, VectorsLostError, VectorStoreError
from directory_indexer.core.kept_files import apply_mode_of_new_files, directory_mode, sync_path
from directory_indexer.core.lazy import lazily
from directory_indexer.core.lock import HeldLock, try_lock
from directory_indexer.walk import FileSystems

with lazily:
    import tempfile

Value = TypeVar("Value", int, str)

_CONTENTS_FILE = "contents.json"
_CHECKSUMS_FILE = "checksums.json"
_COUNT_KEY = "n_vectors"
_EMPTY_BLOCK = bytes(1 << 16)
_RELATIVE_PATH = re.compile(r"(?:(?!\.{1,2}(?:/|$))[^/\\:\x00]+(?:/(?!$)|$))+")
"""A relative path without `.` and `..`, which stays below its directory."""

_PARSE_ERRORS = (ValueError, TypeError, RecursionError)
_MAPPED_WHOLE_BYTES = 1 << 24
"""The engine reads small files as a whole when it opens them, and only the used pages of larger ones."""

_HINT = "dirindex index restores search by meaning from the stored texts"


class GenerationFiles:
    """The files in the directory of a generation or of a draft.

    Raises:
        VectorsLostError: from every query, when files are missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def lengths(self) -> dict[str, int]:
        """Return the lengths that the files were published with, after checking them.

        The engine opens some damaged directories without an error, with fewer vectors than they had.
        """
        try:
            lengths = _parse_file_table((self.path / _CONTENTS_FILE).read_bytes(), int)
        except (OSError, *_PARSE_ERRORS) as error:
            raise self._damage_error(error) from error
        self.require_lengths(lengths)
        return lengths

    def require_lengths(self, lengths: dict[str, int]) -> None:
        """Ensure that every file has its length."""
        directory = f"{self.path}{os.sep}"
        try:
            # Every search calls this: strings, as Path objects take three times as long.
            damaged = [name for name, length in lengths.items() if os.stat(directory + name).st_size != length]
        except OSError as error:
            raise self._damage_error(error) from error
        if damaged:
            raise self._damage_error(f"{damaged[0]} is cut short")

    def allocate(self, lengths: dict[str, int]) -> None:
        """Allocate the disk space of what opening the generation maps into memory.

        On tmpfs a page of a hole is allocated when it is first read through a map, and if there is
        no room for it, the system kills the process.

        Raises:
            VectorStoreError: the disk is too full.
        """
        if sys.platform != "linux" or not _is_on_tmpfs(self.path):
            return
        try:
            for name, length in lengths.items():
                _allocate(self.path / name, length)
        except OSError as error:
            message = f"the files in '{self.path}' cannot be read: {error.strerror}"
            raise VectorStoreError(message, hint="free some disk space") from error

    def require_intact(self) -> None:
        """Read all files, and compare them with their checksums."""
        try:
            damaged = [name for name, digest in self._digests().items() if _digest(self.path / name) != digest]
        except (OSError, *_PARSE_ERRORS) as error:
            raise self._damage_error(error) from error
        if damaged:
            raise self._damage_error(f"{damaged[0]} has changed")

    def content(self, name: str) -> bytes:
        """Read a small file."""
        self.lengths()
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise self._damage_error(error) from error

    def n_vectors(self) -> int:
        """Return the number of vectors that the generation was published with."""
        try:
            return int(self.content(_COUNT_KEY))
        except ValueError as error:
            raise self._damage_error(error) from error

    def copy_to(self, draft: Path, linked: frozenset[str]) -> None:
        """Copy all files; those with names in `linked` become hard links if the file system supports them."""
        for name in self.lengths():
            source, target = self.path / name, draft / name
            target.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
            if source.name not in linked or not _hard_link(source, target):
                _copy(source, target)

    def seal(self, *, n_vectors: int) -> None:
        """Write the table of contents and checksums, and flush all files to the disk."""
        (self.path / _COUNT_KEY).write_text(str(n_vectors), encoding="ascii")
        paths = list(self.path.rglob("*"))
        directories = [self.path, *(path for path in paths if path.is_dir())]
        digests_path, contents_path = self.path / _CHECKSUMS_FILE, self.path / _CONTENTS_FILE
        # The draft has copies of the lists of its base.
        files = [path for path in paths if path.is_file() and path not in {digests_path, contents_path}]
        digests_path.write_text(json.dumps({self._name(path): _digest(path) for path in files}), encoding="utf-8")
        files.append(digests_path)
        lengths = {self._name(path): path.stat().st_size for path in files}
        contents_path.write_text(json.dumps(lengths), encoding="utf-8")
        for path in (*files, contents_path, *directories):
            apply_mode_of_new_files(path)
            sync_path(path)

    def _digests(self) -> dict[str, str]:
        """Return the checksums; a generation of an earlier version has none."""
        try:
            return _parse_file_table((self.path / _CHECKSUMS_FILE).read_bytes(), str)
        except FileNotFoundError:
            return {}

    def _name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _damage_error(self, how: object) -> VectorsLostError:
        return VectorsLostError(f"the files in '{self.path}' are damaged: {how}", hint=_HINT)


def _parse_file_table(content: bytes, kind: type[Value]) -> dict[str, Value]:
    """Parse a table of contents, whose names are used for copying: each must stay below its directory.

    Raises:
        ValueError, TypeError: it is not a table of contents, or a name leaves the directory.
    """
    listed = json.loads(content)
    if not isinstance(listed, dict) or not all(isinstance(value, kind) for value in listed.values()):
        raise TypeError("it is no list of files")
    if foreign := [name for name in listed if not _RELATIVE_PATH.fullmatch(name)]:
        raise ValueError(f"{foreign[0]!a} lies elsewhere")
    return listed


def _is_on_tmpfs(path: Path) -> bool:
    directory = os.path.realpath(path)
    file_system = FileSystems().of(directory, path=directory, device=os.stat(directory).st_dev)
    return file_system.name.partition(" ")[0] == "tmpfs"


if sys.platform == "linux":

    def _allocate(path: Path, length: int) -> None:
        with path.open("r+b") as file:
            mapped = length if length <= _MAPPED_WHOLE_BYTES else _end_of_content(file.fileno())
            if mapped:
                os.posix_fallocate(file.fileno(), 0, mapped)

    def _end_of_content(descriptor: int) -> int:
        end = 0
        with contextlib.suppress(OSError):  # the rest is a hole
            while True:
                end = os.lseek(descriptor, os.lseek(descriptor, end, os.SEEK_DATA), os.SEEK_HOLE)
        return end


def _hard_link(source: Path, target: Path) -> bool:
    try:
        target.hardlink_to(source)
    except OSError:
        return False
    return True


def _copy(source: Path, target: Path) -> None:
    # Files are allocated in large pages, most of them empty; runs of zeros stay holes.
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        while block := reader.read(len(_EMPTY_BLOCK)):
            if block == _EMPTY_BLOCK[: len(block)]:
                writer.seek(len(block), os.SEEK_CUR)
            else:
                writer.write(block)
        writer.truncate()


def _digest(path: Path) -> str:
    # Not by a memory map: on an unreadable disk it would kill the process instead of raising an error.
    digest = blake3()
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def size_bytes(directory: Path) -> int:
    """Return the size of a directory on disk; hard links count once."""
    sizes: dict[tuple[int, int], int] = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                status = Path(folder, name).lstat()
                sizes[status.st_dev, status.st_ino] = (
                    status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
                )
    return sum(sizes.values())


_GENERATION_NAME = re.compile(r"generation-(\d+)(?:\.lock)?")
_SPARE_BYTES = 64_000_000


class HeldGeneration(NamedTuple):
    """A published generation that is locked against removal until it is released."""

    files: GenerationFiles
    lengths: dict[str, int]
    lock: HeldLock

    def require_complete(self) -> None:
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
    """The generations in one directory, which need not exist yet.

    Raises:
        VectorsLostError: from every method that reads a generation, when it is damaged.
        VectorStoreError: the disk is too full.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def lock(self, number: int) -> HeldGeneration | None:
        """Lock a generation while it is read; None if it has been discarded."""
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
        sync_path(self._directory)
        return number

    def files(self, number: int) -> GenerationFiles:
        """Return the files of a generation, which may have been removed."""
        return GenerationFiles(self._directory / f"generation-{number}")

    def require_intact(self, number: int) -> None:
        """Read all files of a generation, and compare them with their checksums.

        Raises:
            GenerationGoneError: it has been discarded.
        """
        held = self.lock(number)
        if held is None:
            raise GenerationGoneError(f"generation {number} is gone")
        with held.lock:
            held.files.require_intact()

    def copy_to(self, number: int, directory: Path) -> bool:
        """Copy a generation into another directory by hard links; return whether it still existed."""
        held = self.lock(number)
        if held is None:
            return False
        with held.lock:
            target = directory / held.files.path.name
            target.mkdir(mode=directory_mode(), parents=True)
            held.files.copy_to(target, frozenset(os.path.basename(name) for name in held.lengths))
            _copy(held.files.path / _CONTENTS_FILE, target / _CONTENTS_FILE)  # after all other files
        return True

    def discard_others(self, number: int) -> None:
        """Remove abandoned drafts, and all other generations that are not being read."""
        for draft in self._directory.glob("draft-*"):
            shutil.rmtree(draft, ignore_errors=True)
        for other in self._numbers() - {number}:
            self._discard_if_unused(other)

    def size_bytes(self) -> int:
        """Return the size of all generations on disk; shared files count once."""
        return size_bytes(self._directory)

    def require_space(self, base: int) -> None:
        """Ensure that there is room for a draft of a generation."""
        # The engine writes through memory maps: on a full disk the system kills the process without a message.
        needed = _SPARE_BYTES + 2 * size_bytes(self.files(base).path)
        free = shutil.disk_usage(self._directory).free
        if free < needed:
            raise VectorStoreError(
                f"'{self._directory}' has {free // 10**6} MB left, and merging may take {needed // 10**6} MB",
                hint="free some disk space",
            )

    def _discard_if_unused(self, number: int) -> None:
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
