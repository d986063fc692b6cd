"""Tar archives, and files compressed as a whole, such as gzip: mostly a tar archive, else a single file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, BinaryIO, Final

from directory_indexer.errors import SkipFileError
from directory_indexer.extractors.archives.unpacking import DAMAGED, PIECE_BYTES, damaged, unpacked_member
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.members import Contents, Member

GZIP_HEADER: Final = b"\x1f\x8b\x08"
BZIP2_HEADER: Final = b"BZh"
XZ_HEADER: Final = b"\xfd7zXZ\0"

_BLOCK_BYTES: Final = 512
_MARK_AT: Final = 257
_YEAR_2242: Final = 1 << 33
_CHECKSUM: Final = slice(148, 156)


def is_tar(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a tar archive: old ones have no magic, but a checksum."""
    return head.startswith(b"ustar", _MARK_AT) or (is_named and _has_checksum(head[:_BLOCK_BYTES]))


def is_gzip(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is compressed by gzip."""
    return head.startswith(GZIP_HEADER)


def is_bzip2(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is compressed by bzip2."""
    return head.startswith(BZIP2_HEADER) and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90")


def is_xz(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is compressed by xz."""
    return head.startswith(XZ_HEADER)


def open_tar(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a tar archive."""
    return Contents(None, _tar_members(file, budget, budget))


def open_gzip(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a file compressed by gzip."""
    return open_compressed(file, lambda: gzip.GzipFile(fileobj=file), budget)


def open_bzip2(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a file compressed by bzip2."""
    return open_compressed(file, lambda: bz2.open(file), budget)


def open_xz(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a file compressed by xz."""
    return open_compressed(file, lambda: lzma.open(file), budget)


def open_compressed(file: BinaryIO, unpack: Callable[[], io.BufferedIOBase], budget: Budget) -> Contents:
    """Open a compressed file; each call of `unpack` starts decompression again."""
    packed_bytes = file.seek(0, io.SEEK_END)
    file.seek(0)
    with unpack() as stream:
        is_archive = is_tar(_read_first_block(stream), is_named=True)
    file.seek(0)
    if is_archive:
        # All that is decompressed counts, whether it is read as a member or not; so members are not counted again.
        uncounted = Budget(n_bytes=budget.n_bytes, member_bytes=budget.member_bytes)
        return Contents(None, _tar_members(_CountedStream(unpack(), budget), budget, uncounted))
    return Contents(None, _only_member(unpack, budget, packed_bytes))


def _read_first_block(stream: io.BufferedIOBase) -> bytes:
    beginning = b""
    try:
        while len(beginning) < _BLOCK_BYTES and (piece := stream.read1(_BLOCK_BYTES)):
            beginning += piece
    except DAMAGED as error:
        if not beginning:
            raise damaged(error) from error
    return beginning


def _only_member(unpack: Callable[[], io.BufferedIOBase], budget: Budget, packed_bytes: int) -> Iterator[Member]:
    """Yield the content of a single compressed file, up to any damage; its name is that of the file itself."""
    pieces: list[bytes] = []
    try:
        with unpack() as stream:
            # With larger reads, everything before the damage would be lost.
            read = iter(lambda: stream.read1(PIECE_BYTES), b"")
            pieces.extend(budget.counted(read, packed_bytes=packed_bytes))
    except SkipFileError as error:
        if budget.is_spent:
            raise
        yield Member("", problem=error)
    except DAMAGED as error:
        if pieces:
            yield Member("", b"".join(pieces))
        raise damaged(error) from error
    else:
        yield Member("", b"".join(pieces))


class _CountedStream(io.RawIOBase):
    """A stream whose decompressed bytes are taken from a budget."""

    def __init__(self, stream: io.BufferedIOBase, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes."""
        content = self._stream.read(size)
        self._budget.take(len(content))
        return content


def _tar_members(stream: IO[bytes] | io.RawIOBase, budget: Budget, member_budget: Budget) -> Iterator[Member]:
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for info in archive:
                budget.take_member()
                if info.isreg():
                    unpack = partial(_open_member, archive, info)
                    modified_ns = int(info.mtime * 1e9) if 0 < info.mtime < _YEAR_2242 else 0
                    yield unpacked_member(
                        info.name, unpack, member_budget, packed_bytes=info.size, modified_ns=modified_ns
                    )
    except DAMAGED as error:
        raise damaged(error) from error


def _open_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    file = archive.extractfile(info)
    if file is None:
        raise ValueError(info.type)
    return file


def _has_checksum(block: bytes) -> bool:
    if len(block) < _BLOCK_BYTES or not block[0]:
        return False
    try:
        checksum = int(block[_CHECKSUM].strip(b" \0") or b"x", 8)
    except ValueError:
        return False
    return checksum == sum(block) - sum(block[_CHECKSUM]) + 8 * ord(" ")
