"""Files that survive a crash: flushed to the disk, or replaced as a whole."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Final

from directory_indexer.core.permissions import file_mode

_NEW_FILE_FLAGS: Final = (
    os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)


def sync_path(path: str | Path) -> None:
    """Flush a file, or the names in a directory, to the disk; Windows cannot open directories, and need not."""
    if sys.platform == "win32" and os.path.isdir(path):
        return
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_new_file(path: Path) -> int:
    """Create a private file for writing, which must not exist."""
    return os.open(path, _NEW_FILE_FLAGS, file_mode())


def write_durably(descriptor: int, content: bytes) -> None:
    """Write a file, flush it to the disk, and close it."""
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Write a private file in place of another one, which may be a hard link to any file of the user's."""
    draft = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    draft.unlink(missing_ok=True)
    try:
        with open(create_new_file(draft), "wb") as file:
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
