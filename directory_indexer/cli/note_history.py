"""History of the notes shown on a terminal, so that a note that applies to many answers is shown once.

A file in the data directory holds the hashes of the latest notes. If it cannot be written, every answer has its notes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from blake3 import blake3

from directory_indexer.core.durable_files import replace_file
from directory_indexer.core.safe_open import open_file, read_small_file


def unseen_notes(data_dir: Path, notes: Mapping[str, str]) -> list[str]:
    """Return the notes whose keys were not shown recently, and record them as shown."""
    path, known = os.path.join(os.path.realpath(data_dir), _NAME), list[str]()
    with contextlib.suppress(OSError, UnicodeDecodeError):  # missing, or not written by us
        known = read_small_file(path, open_file, most_bytes=_MAX_BYTES).decode("ascii").split()
    hashes = {blake3(key.encode("utf-8", "surrogatepass")).hexdigest(length=_HASH_BYTES): key for key in notes}
    new = [notes[key] for hash_, key in hashes.items() if hash_ not in known]
    if new:
        latest = [*(hash_ for hash_ in known if hash_ not in hashes), *hashes][-_MAX_KEPT:]
        with contextlib.suppress(OSError):
            replace_file(Path(path), "\n".join(latest).encode("ascii"))
    return new


_NAME: Final = "notes-shown"
_HASH_BYTES: Final = 8
_MAX_KEPT: Final = 64
_MAX_BYTES: Final = 64 << 10
