"""A transcript that is read, and how many of its lines are no records: cut off, too long, or something else."""

from __future__ import annotations

import io
import os
import stat

from directory_indexer.extractors.archives.zstandard import HEADER, unpacked_by_zstandard


class TranscriptFile(io.BufferedReader):
    """A file, unpacked if Zstandard compressed it, that counts line by line what its reader passes over."""

    def __init__(self, path: str) -> None:
        """Open a regular file, and never wait for a pipe.

        Raises:
            OSError: it cannot be opened, or is no regular file.
            SkipFileError: it is compressed, and nothing that unpacks it is installed.
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
        """Read a line; one that is no object from its first to its last character is counted."""
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
