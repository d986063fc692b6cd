"""Reading of a transcript, with a count of the lines that are no records: truncated, too long, or otherwise invalid."""

from __future__ import annotations

import io
import os
import stat

from directory_indexer.extractors.archives.zstandard import HEADER, unpacked_by_zstandard


class TranscriptFile(io.BufferedReader):
    """A file, decompressed if it is in Zstandard format, that counts the lines that its reader skips."""

    def __init__(self, path: str) -> None:
        """Open a regular file without blocking on a pipe.

        Raises:
            OSError: it cannot be opened, or is no regular file.
            SkipFileError: it is compressed, and no decompressor is installed.
        """
        self._packed = _regular_file(path)
        try:
            super().__init__(_unpacked(self._packed))
        except BaseException:
            self._packed.close()
            raise
        self.n_passed_over = 0
        self._is_within_line = False

    def close(self) -> None:
        """Close the file, compressed or not."""
        super().close()
        self._packed.close()

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line; one that is no JSON object is counted."""
        line = super().readline(size)
        if not self._is_within_line:
            record = line.strip()
            self.n_passed_over += bool(record) and not (record.startswith(b"{") and record.endswith(b"}"))
        self._is_within_line = bool(line) and not line.endswith(b"\n")
        return line


def _regular_file(path: str) -> io.FileIO:
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    file = io.FileIO(os.open(path, flags))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "it is not a regular file")
    return file


def _unpacked(file: io.FileIO) -> io.FileIO | io.BufferedReader:
    is_packed = file.read(len(HEADER)) == HEADER
    file.seek(0)
    return unpacked_by_zstandard(io.BufferedReader(file)) if is_packed else file
