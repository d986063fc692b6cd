"""Reading of small untrusted files without blocking.

Paths from untrusted sources are opened at their resolved, checked location without following links; only paths from the
user or the system are opened through links.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from directory_indexer.nofollow import open_file

MAX_FILE_BYTES: Final = 1024 * 1024

_READ_BYTES: Final = 1 << 16


def is_there(path: str | Path) -> bool:
    """Whether a file exists, as far as permissions allow: a home directory may be inaccessible."""
    try:
        os.stat(path)
    except (OSError, ValueError):
        return False
    return True


def read_small_file(
    path: str | Path, open_it: Callable[[str], int] | None = None, *, most_bytes: int = MAX_FILE_BYTES
) -> bytes:
    """Read an untrusted file of rules or settings without ever blocking.

    `open_it` opens it without following a link; without it, links are followed.

    Raises:
        OSError: it cannot be read, or is no regular file of a reasonable size.
    """
    path = os.fspath(path)
    # Checked before it is opened, too: opening a device may have side effects.
    _require_regular(path, os.stat(path, follow_symlinks=open_it is None).st_mode)
    descriptor = (open_it or partial(open_file, follow_links=True))(path)
    content = b""
    try:
        _require_regular(path, os.fstat(descriptor).st_mode)
        while len(content) <= most_bytes and (further := os.read(descriptor, _READ_BYTES)):
            content += further
    finally:
        os.close(descriptor)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes} bytes", path)
    return content


def _require_regular(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a directory", path)
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "a symbolic link, which git does not follow either", path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
