"""Archives: their members, unpacked one after the other into memory within a budget.

ZIP archives, of which a truncated one, without its central directory, is read up to where it ends; tar archives; and
files compressed as a whole, which are mostly a tar archive, else a single file. Zstandard is in the standard library
since Python 3.14, before in the extra `7z`.
"""

from __future__ import annotations

import bz2
import calendar
import gzip
import io
import lzma
import re
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import MISSING_READER, SkipReason
from directory_indexer.formats.containers import Budget, Contents, Member, read_whole
from directory_indexer.formats.decoding import decode
from directory_indexer.formats.packages import Package

ZIP_HEADER: Final = b"PK\3\4"

_UTF8_FLAG: Final = 0x800
_ENCRYPTED_FLAG: Final = 0x1
_EXTRA_FIELD_HEAD: Final = struct.Struct("<HHBL")
"""The tag and size of an extra field, and the head of a name in UTF-8 (APPNOTE 4.6.9)."""

_UNICODE_PATH_TAG: Final = 0x7075
_ASCII_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORD: Final = re.compile(rb"[a-zA-Z\x80-\xff]+")
_NOT_IN_WESTERN_NAMES: Final = re.compile(rb"[^\x00-\x9a\xa0-\xa5\xe1]")
_PACKAGE_MEMBERS: Final = (b"META-INF/", b"AndroidManifest.xml", b"classes.dex", b"[Content_Types].xml", b"mimetype")
"""First members of packages that are programs, or documents of a format that has no row."""


def is_zip(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a plain ZIP archive, and not a package."""
    return head.startswith(ZIP_HEADER) and (has_extension or not head[30:].startswith(_PACKAGE_MEMBERS))


def open_zip(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a ZIP archive.

    Raises:
        ExtractionError: neither its directory nor any member can be read.
    """
    try:
        archive = zipfile.ZipFile(file)
    except (NotImplementedError, *DAMAGED) as error:
        file.seek(0)
        return Contents(None, _members_by_headers(damaged_archive(error), Package(read_whole(file), budget)))
    return Contents(None, _zip_members(archive, budget))


def _members_by_headers(damage: ExtractionError, package: Package) -> Iterator[Member]:
    """Yield the members found by their local headers, the last one possibly truncated, and then raise the damage."""
    parts = [part for part in package.names() if not part.endswith("/")]
    for part, name in zip(parts, _names([(part, b"") for part in parts]), strict=True):
        pieces: list[bytes] = []
        try:
            pieces.extend(package.pieces(part))
        except SkipFileError as error:
            if package.budget.is_spent:
                raise
            yield Member(name, problem=error)
        except ExtractionError as error:
            yield Member(name, b"".join(pieces), problem=None if pieces else error)
        else:
            yield Member(name, b"".join(pieces))
    raise damage


def _zip_members(archive: zipfile.ZipFile, budget: Budget) -> Iterator[Member]:
    infos = archive.infolist()
    names = _names([("" if info.flag_bits & _UTF8_FLAG else info.filename, info.extra) for info in infos])
    for info, decoded in zip(infos, names, strict=True):
        budget.take_member()
        if info.filename.endswith("/"):  # `is_dir` of Python 3.11 fails where there is no name
            continue
        name, modified_ns = decoded or info.filename, _modified_ns(info)
        if info.flag_bits & _ENCRYPTED_FLAG:
            yield encrypted_member(name, modified_ns)
            continue
        unpack = partial(archive.open, info)
        yield unpack_member(name, unpack, budget, packed_bytes=info.compress_size, modified_ns=modified_ns)


def _names(stored_names: list[tuple[str, bytes]]) -> list[str]:
    """Return decoded names, from names decoded as code page 437 and the extra fields of each.

    Programs write UTF-8 or the code page of their system without saying which, but one for the whole archive.
    """
    names = [_unicode_name(name, extra) or name for name, extra in stored_names]
    non_ascii = {name: name for name in names if not name.isascii()}
    try:
        stored = [name.encode("cp437") for name in non_ascii]
        decoded = [""] if all(map(_is_western, stored)) else decode(b"\n".join([*stored, b""])).split("\n")
    except (UnicodeError, ExtractionError):
        return names
    if len(decoded) == len(non_ascii) + 1:
        non_ascii = dict(zip(non_ascii, decoded, strict=False))
    return [non_ascii.get(name, name) for name in names]


def _unicode_name(name: str, extra: bytes) -> str:
    """Return the name that Info-ZIP and WinRAR add in UTF-8; "" if it has none, or one for another name."""
    at = 0
    while at + _EXTRA_FIELD_HEAD.size <= len(extra):
        tag, size, _, checksum = _EXTRA_FIELD_HEAD.unpack_from(extra, at)
        if tag == _UNICODE_PATH_TAG and checksum == zlib.crc32(name.encode("cp437", "replace")):
            return extra[at + _EXTRA_FIELD_HEAD.size : at + 4 + size].decode("utf-8", "replace")
        at += 4 + size
    return ""


def _is_western(name: bytes) -> bool:
    """Whether letters of code page 437 stand in words of other Latin letters, and nothing else is foreign."""
    return not _NOT_IN_WESTERN_NAMES.search(name) and all(
        2 * len(word.translate(None, _ASCII_LETTERS)) <= len(word) for word in _WORD.findall(name)
    )


def _modified_ns(info: zipfile.ZipInfo) -> int:
    """Return the time of a member, which has no time zone, as if it were UTC; 0 if it is invalid."""
    try:
        return calendar.timegm((*info.date_time, 0, 0, 0)) * 1_000_000_000
    except (ValueError, OverflowError):
        return 0


GZIP_HEADER: Final = b"\x1f\x8b\x08"
BZIP2_HEADER: Final = b"BZh"
XZ_HEADER: Final = b"\xfd7zXZ\0"

_BLOCK_BYTES: Final = 512
_MAGIC_AT: Final = 257
_MAX_SECONDS: Final = 1 << 33
_CHECKSUM: Final = slice(148, 156)


def is_tar(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a tar archive: old ones have no magic, but a checksum."""
    return head.startswith(b"ustar", _MAGIC_AT) or (has_extension and _has_checksum(head[:_BLOCK_BYTES]))


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
    return Contents(None, tar_members(file, budget))


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
        is_archive = is_tar(_read_first_block(stream), has_extension=True)
    file.seek(0)
    if is_archive:
        # All that is decompressed counts, whether it is read as a member or not; so members are not counted again.
        uncounted = Budget(n_bytes=budget.n_bytes, member_bytes=budget.member_bytes)
        return Contents(None, tar_members(_CountedStream(unpack(), budget), budget, uncounted))
    return Contents(None, _only_member(unpack, budget, packed_bytes))


def _read_first_block(stream: io.BufferedIOBase) -> bytes:
    block = b""
    try:
        while len(block) < _BLOCK_BYTES and (piece := stream.read1(_BLOCK_BYTES)):
            block += piece
    except DAMAGED as error:
        if not block:
            raise damaged_archive(error) from error
    return block


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
        raise damaged_archive(error) from error
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


def tar_members(
    stream: IO[bytes] | io.RawIOBase, budget: Budget, member_budget: Budget | None = None
) -> Iterator[Member]:
    """Yield the members of a tar archive, whose bytes are taken from `member_budget`, if it is another.

    Raises:
        ExtractionError: it is damaged, behind the members so far.
        SkipFileError: the budget is spent.
    """
    member_budget = member_budget or budget
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for info in archive:
                budget.take_member()
                if info.isreg():
                    unpack = partial(_open_member, archive, info)
                    modified_ns = int(info.mtime * 1e9) if 0 < info.mtime < _MAX_SECONDS else 0
                    yield unpack_member(
                        info.name, unpack, member_budget, packed_bytes=info.size, modified_ns=modified_ns
                    )
    except DAMAGED as error:
        raise damaged_archive(error) from error


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


if TYPE_CHECKING:
    zstd: Any = None
elif sys.version_info >= (3, 14):
    from compression import zstd
else:
    try:
        from backports import zstd
    except ImportError:
        zstd = None

ZSTANDARD_HEADER: Final = b"\x28\xb5\x2f\xfd"


def is_zstandard(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is compressed by Zstandard."""
    return head.startswith(ZSTANDARD_HEADER)


def open_zstandard(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a file compressed with Zstandard.

    Raises:
        SkipFileError: nothing that unpacks it is installed.
    """
    return open_compressed(file, lambda: open_zstandard_stream(file), budget)


def open_zstandard_stream(file: IO[bytes]) -> io.BufferedReader:
    """Return a decompressing reader of a file, which raises `OSError` if it is damaged.

    Raises:
        SkipFileError: nothing that unpacks it is installed.
    """
    if zstd is None:
        reason = f"Zstandard archive{MISSING_READER}use Python 3.14, or run pip install '.[7z]' in a checkout"
        raise SkipFileError(SkipReason.BINARY, reason)
    return io.BufferedReader(_DamageReportingStream(zstd.ZstdFile(file)))


class _DamageReportingStream(io.RawIOBase):
    """A stream that reports damage as an `OSError`, as the other formats do."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def seekable(self) -> bool:
        """Return True: it can start again."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, by decompressing again if need be."""
        return int(self._stream.seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        """Decompress the next bytes."""
        try:
            return int(self._stream.readinto(buffer))
        except (zstd.ZstdError, EOFError) as error:
            raise OSError(0, "it is damaged") from error


PIECE_BYTES: Final = 1 << 16

DAMAGED: Final = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, struct.error),
    *(ValueError, LookupError, ArithmeticError, AttributeError, AssertionError),
)
"""Exceptions of the standard library for damaged archives."""


def read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of an unpacked file piece by piece."""
    return iter(lambda: file.read(PIECE_BYTES), b"")


def unpack_member(
    name: str, unpack: Callable[[], IO[bytes]], budget: Budget, *, packed_bytes: int, modified_ns: int = 0
) -> Member:
    """Unpack a member; if it is damaged or too large, the error becomes its problem.

    Raises:
        SkipFileError: the budget of the whole archive is spent.
    """
    try:
        with unpack() as file:
            content = b"".join(budget.counted(read_pieces(file), packed_bytes=packed_bytes))
    except SkipFileError as error:
        if budget.is_spent:
            raise
        return Member(name, modified_ns=modified_ns, problem=error)
    except NotImplementedError:
        return Member(name, modified_ns=modified_ns, problem=ExtractionError("is compressed with an unknown method"))
    except RuntimeError:  # zipfile raises it for a member that needs a password
        return encrypted_member(name, modified_ns)
    except DAMAGED as error:
        problem = ExtractionError(f"is damaged in the archive ({type(error).__name__})")
        return Member(name, modified_ns=modified_ns, problem=problem)
    return Member(name, content, modified_ns)


def encrypted_member(name: str, modified_ns: int = 0) -> Member:
    """Return a member with the problem that it is encrypted."""
    return Member(name, modified_ns=modified_ns, problem=SkipFileError(SkipReason.ENCRYPTED, "it needs a password"))


def damaged_archive(error: Exception) -> ExtractionError:
    """Return the error of an archive that cannot be read, or not to its end."""
    return ExtractionError(f"is damaged ({type(error).__name__})")
