"""Which files may be handed to the desktop: documents, and never what it might run instead of showing it."""

from __future__ import annotations

from typing import Final

from directory_indexer.extractors.formats import FORMATS
from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.paths import FilePath


def is_document(path: FilePath, kind: str) -> bool:
    """Tell whether a file is a document by its content and by its name."""
    if kind not in _OPENED:
        return False
    suffix = path.rpartition(".")[2].lower()
    return suffix in FORMATS[kind].suffixes.split()


_RUNNABLE: Final = frozenset({"html", "mhtml", "svg", "xml"})
"""Documents that may hold scripts: a browser takes XML for HTML or SVG if it says so."""

_OPENED: Final = frozenset(
    kind for kind in GROUPS["docs"] | GROUPS["data"] | GROUPS["media"] if kind not in _RUNNABLE
) - {"ini", "dotenv"}
"""What the desktop may open: no code, no archives, no entries of launchers (`ini`)."""
