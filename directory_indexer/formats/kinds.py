"""Kinds of files: aliases that `--type` accepts, groups, and kinds that may be opened on the desktop.

Only documents may be opened, and never anything that the desktop might run instead.
"""

from __future__ import annotations

from functools import cache
from typing import Final, get_args

from directory_indexer.core.paths import FilePath
from directory_indexer.formats.format import Group
from directory_indexer.formats.table import FORMATS

GROUPS: Final[dict[str, frozenset[str]]] = {
    group: frozenset(kind for kind, format_ in FORMATS.items() if format_.group == group) for group in get_args(Group)
}


SHEETS: Final = frozenset({"xlsx", "xlsb", "xls", "ods", "numbers"})
"""Kinds with numbered rows."""

SLIDES: Final = frozenset({"keynote", "odp", "ppt", "pptx"})
"""Kinds whose pages are slides."""

MAILS: Final = frozenset({"email", "emlx", "msg", "tnef", "mbox", "pst"})
"""Kinds whose text begins with the headers of a message."""


def kind_for_alias(alias: str) -> str | None:
    """Return the kind for `py`, `.md`, `C++` or `markdown`; None if no kind has that name."""
    return _kinds_by_alias().get(alias.lower().removeprefix("."))


def kind_names() -> tuple[str, ...]:
    """Return every name of a kind that `--type` accepts."""
    return tuple(sorted(_kinds_by_alias()))


def is_media(path: FilePath) -> bool:
    """Whether a file is a picture or sound, by its suffix: its size then says nothing about its text."""
    return _kind_by_suffix(path) in GROUPS["media"]


def may_be_scanned(path: FilePath) -> bool:
    """Whether a file may have pages that are pictures of text, by its suffix."""
    return _kind_by_suffix(path) in _SCANNED_KINDS


def _kind_by_suffix(path: FilePath) -> str | None:
    _, dot, suffix = path.rpartition(".")
    return kind_for_alias(suffix) if dot else None


_SCANNED_KINDS: Final = frozenset({"bmp", "gif", "jpeg", "pdf", "png", "pnm", "tiff", "webp"})


@cache
def _kinds_by_alias() -> dict[str, str]:
    named = {
        word: kind for kind, format_ in FORMATS.items() for word in f"{format_.suffixes} {format_.aliases}".split()
    }
    return named | {kind: kind for kind in FORMATS} | {"h": "c"}


def is_safe_to_open(path: FilePath, kind: str) -> bool:
    """Whether a file is a document, both by its content and by its name."""
    if kind not in _OPENABLE:
        return False
    suffix = path.rpartition(".")[2].lower()
    return suffix in FORMATS[kind].suffixes.split()


_RUNNABLE: Final = frozenset({"html", "mhtml", "svg", "xml"})
"""Documents that may hold scripts: a browser takes XML for HTML or SVG if it says so."""

_OPENABLE: Final = frozenset(
    name for name in GROUPS["docs"] | GROUPS["data"] | GROUPS["media"] if name not in _RUNNABLE
) - {"ini", "dotenv", "sqlite"}
"""Kinds that the desktop may open: no code, no archives, no launcher entries (`ini`)."""
