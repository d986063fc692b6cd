"""A transcript that is read, and how many of its lines are no records: cut off, too long, or something else."""

from __future__ import annotations

import io
import os
import stat


class TranscriptFile(io.BufferedReader):
    """A file that counts what its reader passes over, line by line."""

    def __init__(self, path: str) -> None:
        """Open a regular file, and never wait for a pipe.

        Raises:
            OSError: it cannot be opened, or is no regular file.
        """
        flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
        super().__init__(io.FileIO(os.open(path, flags)))
        self.n_passed_over = 0
        self._is_within_line = False
        if not stat.S_ISREG(os.fstat(self.fileno()).st_mode):
            self.close()
            raise OSError(0, "it is not a regular file")

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line; one that is no object from its first to its last character is counted."""
        line = super().readline(size)
        if not self._is_within_line:
            record = line.strip()
            self.n_passed_over += bool(record) and not (record.startswith(b"{") and record.endswith(b"}"))
        self._is_within_line = bool(line) and not line.endswith(b"\n")
        return line
