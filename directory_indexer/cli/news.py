"""Notes that hold for many answers, and which of them somebody at a terminal has been shown.

A file in the data directory keeps hashes of the last ones. Where it cannot be kept, every answer has its notes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from blake3 import blake3

from directory_indexer.nofollow import open_file
from directory_indexer.permissions import file_mode
from directory_indexer.walker.small_files import read_small_file


def unseen(data_dir: Path, notes: Mapping[str, str]) -> list[str]:
    """Return the notes whose keys were not shown lately, and remember that they are now."""
    path, known = os.path.join(os.path.realpath(data_dir), _NAME), list[str]()
    with contextlib.suppress(OSError, UnicodeDecodeError):  # none was, or somebody else keeps them
        known = read_small_file(path, open_file, most_bytes=_MOST_BYTES).decode("ascii").split()
    hashes = {blake3(key.encode("utf-8", "surrogatepass")).hexdigest(length=_HASH_BYTES): key for key in notes}
    news = [notes[key] for hash_, key in hashes.items() if hash_ not in known]
    if news:
        kept = [*(hash_ for hash_ in known if hash_ not in hashes), *hashes][-_MOST_KEPT:]
        with contextlib.suppress(OSError):
            _write(path, "\n".join(kept))
    return news


def _write(path: str, text: str) -> None:
    """Put a new file in the place of the old one, which may be a name of any file of the user's (a hard link)."""
    draft = f"{path}.{os.getpid()}"
    with open(os.open(draft, _FLAGS, file_mode()), "w", encoding="ascii") as file:
        file.write(text)
    try:
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise


_NAME: Final = "notes-shown"
_FLAGS: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
_HASH_BYTES: Final = 8
_MOST_KEPT: Final = 64
_MOST_BYTES: Final = 64 << 10
