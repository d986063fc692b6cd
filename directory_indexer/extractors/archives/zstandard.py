"""Files compressed with Zstandard, by the standard library since Python 3.14, before by the extra `7z`."""

from __future__ import annotations

import io
import sys
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final

from directory_indexer.errors import SkipFileError
from directory_indexer.extractors.archives.tars import open_compressed
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.members import Contents
from directory_indexer.files import SkipReason

if TYPE_CHECKING:
    zstd: Any = None
elif sys.version_info >= (3, 14):
    from compression import zstd
else:
    try:
        from backports import zstd
    except ImportError:
        zstd = None

HEADER: Final = b"\x28\xb5\x2f\xfd"


def is_zstandard(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is compressed by Zstandard."""
    return head.startswith(HEADER)


def open_zstandard(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a file compressed with Zstandard.

    Raises:
        SkipFileError: nothing that unpacks it is installed.
    """
    return open_compressed(file, lambda: unpacked_by_zstandard(file), budget)


def unpacked_by_zstandard(file: IO[bytes]) -> io.BufferedReader:
    """Return a decompressing reader of a file, which raises `OSError` if it is damaged.

    Raises:
        SkipFileError: nothing that unpacks it is installed.
    """
    if zstd is None:
        reason = "Zstandard archive: to read it, use Python 3.14, or run pip install '.[7z]' in a checkout"
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
