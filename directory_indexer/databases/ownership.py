"""Whose file a database is."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from directory_indexer.errors import StoreError
from directory_indexer.permissions import is_trusted


def require_own(path: Path) -> None:
    """Refuse what another user has put there: it would be shown as ours, and could make us write elsewhere.

    Raises:
        StoreError: the file or its directory, or what either is a link to, belongs to another user.
    """
    if sys.platform == "win32" or os.geteuid() == 0:
        return
    for place in (path.parent, path):
        with contextlib.suppress(FileNotFoundError):
            if not (is_trusted(place.lstat()) and is_trusted(place.stat())):
                raise StoreError(
                    f"'{place}' belongs to another user, who may have put anything there",
                    hint="choose another place with --data-dir, chown it if it is yours, or set "
                    "storage.shared_with_group if you trust its group",
                )
