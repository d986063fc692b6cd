"""Ownership of database files."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from directory_indexer.errors import StoreError
from directory_indexer.permissions import is_trusted


def require_own(path: Path) -> None:
    """Refuse a file of another user: it would be shown as this user's, and could redirect writes.

    Raises:
        StoreError: the file or its directory, or the target of either, belongs to another user.
    """
    if sys.platform == "win32" or os.geteuid() == 0:
        return
    for checked in (path.parent, path):
        with contextlib.suppress(FileNotFoundError):
            if not (is_trusted(checked.lstat()) and is_trusted(checked.stat())):
                raise StoreError(
                    f"'{checked}' belongs to another user, who may have put anything there",
                    hint="choose another place with --data-dir, chown it if it is yours, or set "
                    "storage.shared_with_group if you trust its group",
                )
