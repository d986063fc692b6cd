"""Files that may be opened on the desktop: documents, and never anything that it might run instead."""

from __future__ import annotations

from typing import Final

from directory_indexer.extractors.formats import FORMATS
from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.paths import FilePath


def is_document(path: FilePath, kind: str) -> bool:
    """Whether a file is a document, both by its content and by its name."""
    if kind not in _OPENABLE:
        return False
    suffix = path.rpartition(".")[2].lower()
    return suffix in FORMATS[kind].suffixes.split()


_RUNNABLE: Final = frozenset({"html", "mhtml", "svg", "xml"})
"""Documents that may hold scripts: a browser takes XML for HTML or SVG if it says so."""

_OPENABLE: Final = frozenset(
    name for name in GROUPS["docs"] | GROUPS["data"] | GROUPS["media"] if name not in _RUNNABLE
) - {"ini", "dotenv"}
"""Kinds that the desktop may open: no code, no archives, no launcher entries (`ini`)."""
