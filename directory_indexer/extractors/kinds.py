"""What kinds of files are called: by people who give a kind to `--type`, and as groups."""

from __future__ import annotations

from functools import cache
from typing import Final, get_args

from directory_indexer.extractors.format import Group
from directory_indexer.extractors.formats import FORMATS
from directory_indexer.paths import FilePath

GROUPS: Final[dict[str, frozenset[str]]] = {
    group: frozenset(kind for kind, one in FORMATS.items() if one.group == group) for group in get_args(Group)
}


SHEETS: Final = frozenset({"xlsx", "xlsb", "xls", "ods", "numbers"})
"""The kinds with numbered rows."""

MAILS: Final = frozenset({"email", "emlx", "msg", "tnef", "mbox", "pst"})
"""The kinds whose text begins with the headers of a message."""


def kind_for_alias(alias: str) -> str | None:
    """Find the kind that a person means by `py`, `.md`, `C++` or `markdown`; None when no kind is called that."""
    return _kinds_by_alias().get(alias.lower().removeprefix("."))


def kind_names() -> tuple[str, ...]:
    """List every name that a person may call a kind by."""
    return tuple(sorted(_kinds_by_alias()))


def is_media(path: FilePath) -> bool:
    """Tell by its suffix whether a file is a picture or sound, whose size says nothing about the text in it."""
    return _kind_by_suffix(path) in GROUPS["media"]


def may_be_scanned(path: FilePath) -> bool:
    """Tell by its suffix whether a file may have pages that are pictures of text."""
    return _kind_by_suffix(path) in _SCANNED_KINDS


def _kind_by_suffix(path: FilePath) -> str | None:
    _, dot, suffix = path.rpartition(".")
    return kind_for_alias(suffix) if dot else None


_SCANNED_KINDS: Final = frozenset({"bmp", "gif", "jpeg", "pdf", "png", "pnm", "tiff", "webp"})


@cache
def _kinds_by_alias() -> dict[str, str]:
    named = {word: kind for kind, one in FORMATS.items() for word in f"{one.suffixes} {one.aliases}".split()}
    return named | {kind: kind for kind in FORMATS} | {"h": "c"}
