"""The files of one generation: their lengths and checksums, by which damage is detected, and their durability."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from pathlib import Path
from typing import TypeVar

from blake3 import blake3

from directory_indexer.errors import VectorsLostError, VectorStoreError
from directory_indexer.permissions import confine, directory_mode
from directory_indexer.walker.filesystems import FileSystems

Value = TypeVar("Value", int, str)

_CONTENTS = "contents.json"
_DIGESTS = "checksums.json"
_COUNT = "n_vectors"
_BLOCK = bytes(1 << 16)
_RELATIVE_PATH = re.compile(r"(?:(?!\.{1,2}(?:/|$))[^/\\:\x00]+(?:/(?!$)|$))+")
"""A relative path without `.` and `..`, which stays below its directory."""

_PARSE_ERRORS = (ValueError, TypeError, RecursionError)
_MAPPED_WHOLE_BYTES = 1 << 24
"""The engine reads small files as a whole when it opens them, and only the used pages of larger ones."""

_HINT = "dirindex index makes the vectors again from the stored texts"


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
            lengths = _parse_file_table((self.path / _CONTENTS).read_bytes(), int)
        except (OSError, *_PARSE_ERRORS) as error:
            raise self._damaged(error) from error
        self.require_lengths(lengths)
        return lengths

    def require_lengths(self, lengths: dict[str, int]) -> None:
        """Ensure that every file has its length."""
        directory = f"{self.path}{os.sep}"
        try:
            # Every search calls this: strings, as Path objects take three times as long.
            damaged = [name for name, length in lengths.items() if os.stat(directory + name).st_size != length]
        except OSError as error:
            raise self._damaged(error) from error
        if damaged:
            raise self._damaged(f"{damaged[0]} is cut short")

    def allocate(self, lengths: dict[str, int]) -> None:
        """Allocate the disk space of what opening the generation maps into memory.

        On tmpfs a page of a hole is allocated when it is first read through a map, and if there is
        no room for it, the system kills the process.

        Raises:
            VectorStoreError: the disk is too full.
        """
        if sys.platform != "linux" or not _is_in_memory(self.path):
            return
        try:
            for name, length in lengths.items():
                _allocate(self.path / name, length)
        except OSError as error:
            message = f"the vectors in '{self.path}' cannot be read: {error.strerror}"
            raise VectorStoreError(message, hint="free some disk space") from error

    def require_intact(self) -> None:
        """Read all files, and compare them with their checksums."""
        try:
            damaged = [name for name, digest in self._digests().items() if _digest(self.path / name) != digest]
        except (OSError, *_PARSE_ERRORS) as error:
            raise self._damaged(error) from error
        if damaged:
            raise self._damaged(f"{damaged[0]} has changed")

    def content(self, name: str) -> bytes:
        """Read a small file."""
        self.lengths()
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise self._damaged(error) from error

    def n_vectors(self) -> int:
        """Return the number of vectors that the generation was published with."""
        try:
            return int(self.content(_COUNT))
        except ValueError as error:
            raise self._damaged(error) from error

    def copy_to(self, draft: Path, linked: frozenset[str]) -> None:
        """Copy all files; those with names in `linked` become hard links if the file system supports them."""
        for name in self.lengths():
            source, target = self.path / name, draft / name
            target.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
            if source.name not in linked or not _link(source, target):
                _copy(source, target)

    def copy_contents_to(self, directory: Path) -> None:
        """Copy the table of contents, after all other files."""
        _copy(self.path / _CONTENTS, directory / _CONTENTS)

    def seal(self, *, n_vectors: int) -> None:
        """Write the table of contents and checksums, and flush all files to the disk."""
        (self.path / _COUNT).write_text(str(n_vectors), encoding="ascii")
        paths = list(self.path.rglob("*"))
        directories = [self.path, *(path for path in paths if path.is_dir())]
        digests_path, contents_path = self.path / _DIGESTS, self.path / _CONTENTS
        # The draft has copies of the lists of its base.
        files = [path for path in paths if path.is_file() and path not in {digests_path, contents_path}]
        digests_path.write_text(json.dumps({self._name(path): _digest(path) for path in files}), encoding="utf-8")
        files.append(digests_path)
        lengths = {self._name(path): path.stat().st_size for path in files}
        contents_path.write_text(json.dumps(lengths), encoding="utf-8")
        for path in (*files, contents_path):
            confine(path)
            _sync_file(path)
        for path in directories:
            confine(path)
            sync_directory(path)

    def _digests(self) -> dict[str, str]:
        """Return the checksums; a generation of an earlier version has none."""
        try:
            return _parse_file_table((self.path / _DIGESTS).read_bytes(), str)
        except FileNotFoundError:
            return {}

    def _name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _damaged(self, how: object) -> VectorsLostError:
        return VectorsLostError(f"the vectors in '{self.path}' are damaged: {how}", hint=_HINT)


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


def _is_in_memory(path: Path) -> bool:
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


def _digest(path: Path) -> str:
    # Not by a memory map: on an unreadable disk it would kill the process instead of raising an error.
    digest = blake3()
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Flush the names in a directory to the disk."""
    if os.name == "nt":  # Windows cannot open directories, and need not
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def size_bytes(directory: Path) -> int:
    """Return the size of a directory on disk; hard links count once."""
    sizes: dict[tuple[int, int], int] = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                status = Path(folder, name).lstat()
                sizes[status.st_dev, status.st_ino] = _allocated_bytes(status)
    return sum(sizes.values())


def _allocated_bytes(status: os.stat_result) -> int:
    return status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
